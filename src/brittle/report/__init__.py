"""What people look at: figures, the HTML report, tables on the console."""
