import Bonjour

/// A lamp that others can find.
final class Lamp: NSObject, NetServiceDelegate {
  private let service = NetService(domain: "", type: "_lamp._tcp.", name: "Desk lamp", port: 8_080)

  func switchOn() {
    service.delegate = self
    service.setTXTRecord(NetService.data(fromTXTRecord: ["room": Data("study".utf8)]))
    service.publish()
  }

  func netServiceDidPublish(_ sender: NetService) {
    print("published as \(sender.name)")
  }

  func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {
    print("not published: \(errorDict[NetService.errorCode] ?? 0)")
  }
}
