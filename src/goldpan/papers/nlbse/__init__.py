"""The NLBSE tool competitions on issue reports and code comments (2022 to 2025)."""
