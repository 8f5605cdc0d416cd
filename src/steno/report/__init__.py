"""The report: a page that carries a bundle, and shows what its own browser has checked.

In: a run's folder. Out: one HTML file that needs no network, or Markdown for a pull request. The page is
made of a header in plain HTML, the bundle's files byte for byte, and a script that reads those files.
"""
