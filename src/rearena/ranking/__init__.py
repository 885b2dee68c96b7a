"""Battles to ratings: Bradley-Terry, its intervals and ranks, and Elo replay."""
