"""What a parsed feature is, one small integer each."""

NUMBER = 0
CATEGORY = 1  # number of a category; UNKNOWN for one that training had not
CIRCLE = 2  # place on a circle, as a share of its length
TEXT = 3  # first block of text; the next blocks have the next integers

UNKNOWN = -1.0
