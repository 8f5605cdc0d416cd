"""The report: a page that carries a bundle, and shows what its own browser has checked."""
