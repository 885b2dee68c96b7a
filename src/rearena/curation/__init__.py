"""From raw prompts to a benchmark: filters, topics, quality, selection."""
