import CNetlink
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

  static func requests(on interfaceName: String) -> [NetlinkRequest] {
    let table = NetlinkAttribute(NFTA_TABLE_NAME, "ambit-linklocal-\(interfaceName)")
    let hook = [
      NetlinkAttribute(NFTA_HOOK_HOOKNUM, bigEndian: egressHook),
      NetlinkAttribute(NFTA_HOOK_PRIORITY, bigEndian: 0),
      NetlinkAttribute(NFTA_HOOK_DEV, interfaceName),
    ]
    let chain = [
      table, NetlinkAttribute(NFTA_CHAIN_NAME, "out"), NetlinkAttribute(NFTA_CHAIN_HOOK, hook),
      NetlinkAttribute(NFTA_CHAIN_POLICY, bigEndian: accepting),
      NetlinkAttribute(NFTA_CHAIN_TYPE, "filter"),
    ]
    let rule = [
      table, NetlinkAttribute(NFTA_RULE_CHAIN, "out"),
      NetlinkAttribute(
        NFTA_RULE_EXPRESSIONS, expressions.map { NetlinkAttribute(NFTA_LIST_ELEM, $0) }),
    ]
    // The table goes with the socket.
    let owned = [table, NetlinkAttribute(NFTA_TABLE_FLAGS, bigEndian: NFT_TABLE_F_OWNER.rawValue)]
    return [
      batch(NFNL_MSG_BATCH_BEGIN),
      request(NFT_MSG_NEWTABLE, owned),
      request(NFT_MSG_NEWCHAIN, chain),
      request(NFT_MSG_NEWRULE, rule, .append),
      batch(NFNL_MSG_BATCH_END),
    ]
  }

  private static func batch(_ type: Int32) -> NetlinkRequest {
    NetlinkRequest(
      type: UInt16(type), flags: [], head: head(family: 0, resource: UInt8(NFNL_SUBSYS_NFTABLES)))
  }

  /// In a frame of Ethernet: its type is ARP, the packet's sender begins with 169.254; then the
  /// destination becomes everybody's.
  private static let expressions: [[NetlinkAttribute]] =
    load(offset: 12, byteCount: 2) + compare([0x08, 0x06])
    + load(offset: 28, byteCount: 2) + compare([169, 254])
    + [
      expression(
        "immediate",
        [
          NetlinkAttribute(NFTA_IMMEDIATE_DREG, bigEndian: register),
          data(NFTA_IMMEDIATE_DATA, .init(repeating: 0xFF, count: 6)),
        ]),
      expression(
        "payload",
        [
          NetlinkAttribute(NFTA_PAYLOAD_SREG, bigEndian: register),
          NetlinkAttribute(NFTA_PAYLOAD_BASE, bigEndian: NFT_PAYLOAD_LL_HEADER.rawValue),
          NetlinkAttribute(NFTA_PAYLOAD_OFFSET, bigEndian: 0),
          NetlinkAttribute(NFTA_PAYLOAD_LEN, bigEndian: 6),
        ]),
    ]

  private static let register = NFT_REG_1.rawValue

  // Of linux/netfilter.h, which would bring the C library's addresses along.
  private static let egressHook: UInt32 = 1  // NF_NETDEV_EGRESS
  private static let accepting: UInt32 = 1  // NF_ACCEPT
  private static let netdevFamily: UInt8 = 5  // NFPROTO_NETDEV

  private static func load(offset: UInt32, byteCount: UInt32) -> [[NetlinkAttribute]] {
    [
      expression(
        "payload",
        [
          NetlinkAttribute(NFTA_PAYLOAD_DREG, bigEndian: register),
          NetlinkAttribute(NFTA_PAYLOAD_BASE, bigEndian: NFT_PAYLOAD_LL_HEADER.rawValue),
          NetlinkAttribute(NFTA_PAYLOAD_OFFSET, bigEndian: offset),
          NetlinkAttribute(NFTA_PAYLOAD_LEN, bigEndian: byteCount),
        ])
    ]
  }

  private static func compare(_ bytes: [UInt8]) -> [[NetlinkAttribute]] {
    [
      expression(
        "cmp",
        [
          NetlinkAttribute(NFTA_CMP_SREG, bigEndian: register),
          NetlinkAttribute(NFTA_CMP_OP, bigEndian: NFT_CMP_EQ.rawValue),
          data(NFTA_CMP_DATA, bytes),
        ])
    ]
  }

  private static func data(
    _ type: some RawRepresentable<UInt32>, _ bytes: [UInt8]
  ) -> NetlinkAttribute {
    NetlinkAttribute(type, [NetlinkAttribute(NFTA_DATA_VALUE, bytes)])
  }

  private static func expression(_ name: String, _ parts: [NetlinkAttribute]) -> [NetlinkAttribute]
  {
    [NetlinkAttribute(NFTA_EXPR_NAME, name), NetlinkAttribute(NFTA_EXPR_DATA, parts)]
  }

  private static func request(
    _ message: nf_tables_msg_types, _ attributes: [NetlinkAttribute],
    _ flags: NetlinkRequest.Flags = []
  ) -> NetlinkRequest {
    NetlinkRequest(
      type: UInt16(NFNL_SUBSYS_NFTABLES) << 8 | UInt16(message.rawValue),
      flags: flags.union(.create), head: head(family: netdevFamily, resource: 0),
      attributes: attributes)
  }

  /// struct nfgenmsg: family, version, and in the network's byte order a resource.
  private static func head(family: UInt8, resource: UInt8) -> [UInt8] { [family, 0, 0, resource] }
}
