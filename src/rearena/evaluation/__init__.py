"""How good is a benchmark or a judge: separability, agreement, calibration, correlation."""
