import Bonjour

/// Lists the lamps whenever one comes or goes, until the task is cancelled.
func listLamps() async throws {
  for try await lamps in NetServiceBrowser.services(ofType: "_lamp._tcp.") {
    for lamp in lamps {
      let resolved = try await lamp.resolve(timeout: .seconds(3))
      print("\(lamp.name): \(resolved.hostName), port \(resolved.port)")
    }
  }
}

/// Publishes a lamp for as long as the task runs.
func publishLamp() async throws {
  let service = NetService(domain: "", type: "_lamp._tcp.", name: "Desk lamp", port: 8_080)
  for try await name in service.publishedNames() {
    print("published as \(name)")
  }
}

/// The rooms with a lamp, from the lamps' TXT records.
func listRooms() async throws {
  let lamps = NWBrowser.results(for: .bonjourWithTXTRecord(type: "_lamp._tcp", domain: nil))
  for try await results in lamps {
    for result in results {
      guard case .bonjour(let record) = result.metadata else { continue }
      let addresses = try await result.endpoint.addresses()
      print("\(record["room"] ?? "no room"): \(addresses)")
    }
  }
}
