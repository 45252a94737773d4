"""SpEL, an entity linker by a fine-tuned RoBERTa (Shavarani and Sarkar, 2023)."""
