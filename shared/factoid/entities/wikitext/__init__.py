"""Wikitext to plain text and links, without markup, boxes, tables and notes.

A page is prepared once (`prepare`), which is quick. The parser, which is slow, sees one line at a time (`render`) and stops as
soon as there are enough words (`clean`).
"""
