"""Lesson 11's runs: adapters that are trained, saved, merged and served."""
