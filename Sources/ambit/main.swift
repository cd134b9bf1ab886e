print("ambit")
