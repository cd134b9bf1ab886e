import CoreBluetooth
import CoreBluetoothAsync

/// Prints ten heart rates of the first strap that is found.
func printHeartRates() async throws {
  let central = Central()
  for await discovery in central.scan(services: [CBUUID(string: "180D")]) {
    let strap = try await central.connect(discovery.id)
    let measurement = try await strap.characteristic(
      CBUUID(string: "2A37"), of: CBUUID(string: "180D"))
    var count = 0
    for try await value in strap.values(of: measurement) {
      print(value[1], "beats per minute")
      count += 1
      if count == 10 { break }
    }
    return await strap.disconnect()
  }
}
