"""Wikitext to plain text and links: what a reader of the page sees, without markup, boxes, tables and notes.

A page is prepared once (`prepare`: comments, notes, formulas and tags), which is quick. What is slow, the parser, sees one
line at a time (`lines`) and stops as soon as there are enough words (`clean`).
"""
