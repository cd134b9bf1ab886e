import DNSWire
import DiscoveryMachines
import Essentials
import Glibc

extension Entry {
  /// `ask OWN SERVER NAME RECORDTYPE MILLISECONDS COUNT`: sends a server unicast queries from a
  /// port of its own, as fast as it answers, COUNT at a time. Prints the number of answers and the
  /// time that they took.
  static func ask(_ words: inout Words) throws {
    let (own, server) = (try address(&words), try address(&words))
    let name = try DNSName(text: try words.required())
    let type = DNSType(rawValue: UInt16(try words.number()))
    let milliseconds = try words.number()
    let count = try words.number()
    let socket = try Socket(own, port: 0)
    let questions = try (0..<UInt16(count)).map { id in
      let question = DNSQuestion(name: name, type: type)
      return try DNSMessage(header: DNSHeader(id: id, flags: 0), questions: [question]).encoded()
    }
    say("ready")
    guard awaitLine() == "go" else { return }
    let start = Clock.nanoseconds
    let end = start + Int64(milliseconds) * 1_000_000
    var (answered, lost) = (0, 0)
    for question in questions { try socket.send(question, to: server) }
    while Clock.nanoseconds < end {
      let answers = socket.receive(countMax: count)
      answered += answers
      // Nothing for 20 ms: all of them are lost.
      if answers == 0 { lost += questions.count }
      for question in questions.prefix(answers == 0 ? questions.count : answers) {
        try socket.send(question, to: server)
      }
    }
    say("answered", "\(answered)", "\(lost)", "\(Clock.nanoseconds - start)")
  }

  /// `echo OWN`: sends packets to the group back to their sender, until it is ended: the least time
  /// that an answer can take on this machine.
  static func echo(_ words: inout Words) throws {
    let own = try address(&words)
    let socket = try Socket(.any, port: multicastDNSPort)
    try socket.join(.multicastDNS, from: own)
    say("ready")
    while true { socket.echo() }
  }

  /// `flood OWN KIND RATE COUNT [NAME]`: sends COUNT packets to the group at RATE packets a second,
  /// from port 5353. KIND is `unknown` for queries of names that don't exist, `same` for queries of
  /// the PTR records of NAME, `records` for responses with 20 new address records each.
  static func flood(_ words: inout Words) throws {
    let own = try address(&words)
    let kind = try words.required()
    let (rate, count) = (try words.number(), try words.number())
    let name = try words.next().map { text in try DNSName(text: text) }
    let socket = try Socket(own, port: multicastDNSPort)
    let packets = try Self.packets(kind, name)
    say("ready")
    guard awaitLine() == "go" else { return }
    let start = Clock.nanoseconds
    var sent = 0
    while sent < count {
      // The packets due by now, but no burst larger than a receiver's buffer.
      let elapsed = Clock.nanoseconds - start
      let due = min(count, Int(Double(elapsed) * Double(rate) / 1e9) + 1, sent + 64)
      if due > sent {
        for number in sent..<due { try socket.send(packets(number), to: .multicastDNS) }
        sent = due
      } else {
        // Nothing is due: this is the rate that was asked for.
        usleep(200)
      }
    }
    say("sent", "\(sent)", "\(Clock.nanoseconds - start)")
    // The process that started this one ends it.
    _ = awaitLine()
  }

  private static func address(_ words: inout Words) throws -> Inet4Address {
    guard let address = Inet4Address(text: try words.required()) else { throw Misuse() }
    return address
  }

  /// The packet of each number.
  private static func packets(
    _ kind: String, _ name: DNSName?
  ) throws -> (Int) throws -> [UInt8] {
    func question(_ name: DNSName, _ type: DNSType) throws -> [UInt8] {
      try DNSMessage(header: .query, questions: [DNSQuestion(name: name, type: type)]).encoded()
    }
    switch (kind, name) {
    case ("unknown", nil):
      let packets = try (0..<4_096).map { number in
        try question(DNSName(text: "Nobody-\(number)._unknown._tcp.local."), .srv)
      }
      return { packets[$0 % packets.count] }
    case ("same", let name?):
      let packet = try question(name, .ptr)
      return { _ in packet }
    case ("records", nil):
      return { number in
        let records = try (0..<20).map { index in
          let name = try DNSName(text: "flood-\(number * 20 + index).local.")
          return DNSRecord(
            name: name, flushesCache: true, ttlSeconds: 4500,
            data: .a(Inet4Address(rawValue: UInt32(number * 20 + index))))
        }
        return try DNSMessage(header: .response, answers: records).encoded()
      }
    default: throw Misuse()
    }
  }
}
