"""SpEL: structured prediction of entity links with a fine-tuned RoBERTa (Shavarani and Sarkar, 2023), from descriptions."""
