"""Inference by premise and hypothesis reading each other. [Chen 2017]"""
