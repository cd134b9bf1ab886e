import BluetoothInterface
import BluetoothWire

// What must hold of the counts of events and packets whenever the machine is not at work.

extension EventBacklog {
  /// How the counts contradict each other; a sentence for each contradiction.
  func violations() -> [String] {
    var found: [String] = []
    for client in clients { found += violations(of: client) }
    for link in links {
      for id in link.slowClients {
        let client = clients.first { $0.id == id }
        let unhandled = client?.unhandled.first { $0.link == link.number }
        if unhandled.map({ $0.count <= Limits.unhandledLow }) ?? true {
          found.append("link \(link.handle) is held back for client \(id.rawValue) for no reason")
        }
      }
    }
    let count =
      strays.reduce(0) { $0 + Int($1.count) } + links.indices.reduce(0) { $0 + completable($1) }
    if completableCount != count {
      found.append("\(completableCount) packets are counted as completable, which are \(count)")
    }
    if losses.count > Limits.lossesMax { found.append("\(losses.count) losses are kept") }
    if losses.contains(where: { !isAcknowledging($0.client) }) {
      found.append("a loss of a removed client is kept")
    }
    return found
  }

  private func violations(of client: Client) -> [String] {
    var found: [String] = []
    let number = client.id.rawValue
    for (link, count) in client.unhandled {
      if count < 1 { found.append("client \(number) has \(count) unhandled events of a link") }
      if !links.contains(where: { $0.number == link }) {
        found.append("client \(number) has unhandled events of a removed link")
      }
    }
    if client.reportCount < 0 { found.append("client \(number) has handled too many reports") }
    let counted = client.unhandled.reduce(client.reportCount) { $0 + $1.count }
    if client.handledCount > client.deliveredCount || counted > client.unhandledCount {
      found.append("client \(number) has fewer unhandled events than those of its links")
    }
    return found
  }
}
