"""Coupled multi-layer attention for aspect and opinion words. [Wang 2017]"""
