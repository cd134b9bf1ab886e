import Glibc

extension Entry {
  /// `count INTERFACE`: counts the Multicast DNS frames that this host sends over IPv4 and IPv6,
  /// with their headers, as they are on the wire. At each line that it reads, it prints the number
  /// of packets and bytes since the previous line.
  static func count(_ words: inout Words) throws {
    let index = if_nametoindex(try words.required())
    let descriptor = try openPacketSocket(on: index)
    defer { close(descriptor) }
    say("ready")
    var (packets, bytes) = (0, 0)
    var frame = [UInt8](repeating: 0, count: 65_536)
    var waiting = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
    ]
    while poll(&waiting, 2, -1) > 0 {
      while let byteCount = nextFrame(descriptor, &frame) {
        guard isMulticastDNS(frame.prefix(byteCount)) else { continue }
        packets += 1
        bytes += byteCount
      }
      guard waiting[1].revents != 0 else { continue }
      _ = awaitLine()
      say("counted", "\(packets)", "\(bytes)")
      (packets, bytes) = (0, 0)
    }
  }

  /// A socket that sees every frame of an interface (packet(7)).
  private static func openPacketSocket(on index: UInt32) throws -> Int32 {
    let everything = UInt16(0x0003).bigEndian  // ETH_P_ALL
    let type = Int32(SOCK_RAW.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_PACKET, type, Int32(everything))
    guard descriptor >= 0 else { throw Failure(call: "socket") }
    // struct sockaddr_ll: family, protocol, index, the rest zero.
    var address = [UInt8](repeating: 0, count: 20)
    address.withUnsafeMutableBytes { bytes in
      bytes.storeBytes(of: UInt16(AF_PACKET), as: UInt16.self)
      bytes.storeBytes(of: everything, toByteOffset: 2, as: UInt16.self)
      bytes.storeBytes(of: index, toByteOffset: 4, as: UInt32.self)
    }
    let status = address.withUnsafeBytes { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, 20) }
    }
    guard status == 0 else { throw Failure(call: "bind") }
    return descriptor
  }

  /// Reads a frame that this host sent; nil if none is left.
  private static func nextFrame(_ descriptor: Int32, _ frame: inout [UInt8]) -> Int? {
    while true {
      var address = [UInt8](repeating: 0, count: 20)
      var byteCountOfAddress = socklen_t(address.count)
      let byteCount = address.withUnsafeMutableBytes { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) {
          recvfrom(descriptor, &frame, frame.count, 0, $0.baseAddress, &byteCountOfAddress)
        }
      }
      guard byteCount > 0 else { return nil }
      // sll_pkttype: PACKET_OUTGOING
      if address[10] == 4 { return byteCount }
    }
  }

  /// Whether a frame of Ethernet has UDP to port 5353 in it.
  private static func isMulticastDNS(_ frame: ArraySlice<UInt8>) -> Bool {
    guard frame.count >= 14 + 28 else { return false }
    let port = [UInt8(0x14), 0xE9]
    switch (frame[12], frame[13]) {
    case (0x08, 0x00):
      let header = 14 + Int(frame[14] & 0x0F) * 4
      guard frame[23] == 17, frame.count >= header + 8 else { return false }
      return Array(frame[header + 2..<header + 4]) == port
    case (0x86, 0xDD):
      guard frame[20] == 17, frame.count >= 14 + 48 else { return false }
      return Array(frame[56..<58]) == port
    default: return false
    }
  }
}
