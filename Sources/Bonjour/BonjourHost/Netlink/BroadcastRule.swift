import Essentials
import EventLoop

/// Makes the kernel send all ARP packets from link-local addresses of one interface to everybody
/// (RFC 3927, §2.5), as long as it lives: also when the program is killed, the kernel takes the
/// rule away with the socket.
///
/// It is a table of nftables with one rule, in the words of its command line:
///
///     table netdev NAME {
///       flags owner
///       chain out {
///         type filter hook egress device INTERFACE priority 0; policy accept;
///         arp saddr ip 169.254.0.0/16 ether daddr set ff:ff:ff:ff:ff:ff
///       }
///     }
struct BroadcastRule: ~Copyable {
  private let socket: NetlinkSocket

  /// Sets the rule.
  ///
  /// - Throws: The kernel's error: older than 5.16, without nftables, not permitted.
  init(on interfaceName: String) throws(SystemError) {
    let socket = try NetlinkSocket(.filter)
    let batch = Self.requests(on: interfaceName).enumerated()
    try socket.send(batch.flatMap { $1.bytes(sequence: UInt32($0)) })
    // Only errors are reported.
    for message in try socket.receive() {
      guard let number = message.errorNumber, number != 0 else { continue }
      throw SystemError(number: number)
    }
    self.socket = socket
  }

  // What follows are the numbers of linux/netfilter/nfnetlink.h and nf_tables.h.

  static func requests(on interfaceName: String) -> [NetlinkRequest] {
    let table = NetlinkAttribute(1, "ambit-linklocal-\(interfaceName)")
    let hook = [
      NetlinkAttribute(1, bigEndian: 1),  // NF_NETDEV_EGRESS
      NetlinkAttribute(2, bigEndian: 0),  // priority
      NetlinkAttribute(3, interfaceName),
    ]
    let chain = [
      table, NetlinkAttribute(3, "out"), NetlinkAttribute(4, hook),
      NetlinkAttribute(5, bigEndian: 1),  // policy: accept
      NetlinkAttribute(7, "filter"),
    ]
    let rule = [
      table, NetlinkAttribute(2, "out"),
      NetlinkAttribute(4, expressions.map { NetlinkAttribute(1, $0) }),
    ]
    // The table goes with the socket: NFT_TABLE_F_OWNER.
    let owned = [table, NetlinkAttribute(2, bigEndian: 2)]
    return [
      NetlinkRequest(type: 16, flags: [], head: head(family: 0, resource: 10)),  // BATCH_BEGIN
      request(0, owned),  // NEWTABLE
      request(3, chain),  // NEWCHAIN
      request(6, rule, .append),  // NEWRULE
      NetlinkRequest(type: 17, flags: [], head: head(family: 0, resource: 10)),  // BATCH_END
    ]
  }

  /// In a frame of Ethernet: its type is ARP, the packet's sender begins with 169.254; then the
  /// destination becomes everybody's.
  private static let expressions: [[NetlinkAttribute]] =
    load(offset: 12, byteCount: 2) + compare([0x08, 0x06])
    + load(offset: 28, byteCount: 2) + compare([169, 254])
    + [
      expression(
        "immediate",
        [NetlinkAttribute(1, bigEndian: register), data(2, .init(repeating: 0xFF, count: 6))]),
      expression(
        "payload",
        [
          NetlinkAttribute(5, bigEndian: register),  // from the register
          NetlinkAttribute(2, bigEndian: 0),  // the frame's header
          NetlinkAttribute(3, bigEndian: 0),  // offset
          NetlinkAttribute(4, bigEndian: 6),  // length
        ]),
    ]

  private static let register: UInt32 = 1

  private static func load(offset: UInt32, byteCount: UInt32) -> [[NetlinkAttribute]] {
    [
      expression(
        "payload",
        [
          NetlinkAttribute(1, bigEndian: register),  // into the register
          NetlinkAttribute(2, bigEndian: 0),  // the frame's header
          NetlinkAttribute(3, bigEndian: offset),
          NetlinkAttribute(4, bigEndian: byteCount),
        ])
    ]
  }

  private static func compare(_ bytes: [UInt8]) -> [[NetlinkAttribute]] {
    [
      expression(
        "cmp",
        [
          NetlinkAttribute(1, bigEndian: register),
          NetlinkAttribute(2, bigEndian: 0),  // equal
          data(3, bytes),
        ])
    ]
  }

  private static func data(_ type: UInt16, _ bytes: [UInt8]) -> NetlinkAttribute {
    NetlinkAttribute(type, [NetlinkAttribute(1, bytes)])
  }

  private static func expression(_ name: String, _ parts: [NetlinkAttribute]) -> [NetlinkAttribute]
  {
    [NetlinkAttribute(1, name), NetlinkAttribute(2, parts)]
  }

  private static func request(
    _ message: UInt16, _ attributes: [NetlinkAttribute], _ flags: NetlinkRequest.Flags = []
  ) -> NetlinkRequest {
    NetlinkRequest(
      type: 10 << 8 | message, flags: flags.union(.create),  // NFNL_SUBSYS_NFTABLES
      head: head(family: 5, resource: 0), attributes: attributes)  // NFPROTO_NETDEV
  }

  /// struct nfgenmsg: family, version, and in the network's byte order a resource.
  private static func head(family: UInt8, resource: UInt8) -> [UInt8] { [family, 0, 0, resource] }
}
