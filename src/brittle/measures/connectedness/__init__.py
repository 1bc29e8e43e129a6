"""Connectedness: do images of a class lie in one region that the classifier gives that class?"""
