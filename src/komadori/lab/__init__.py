"""Named runs of the whole path, and the pages that show them."""
