"""Learners: one published algorithm a file, arrays in and a frozen result out."""
