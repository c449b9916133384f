"""What stands between attentions: embeddings, positions, the feed-forward network, and the sublayer."""
