import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines
import PairingMachines

// Signed writes (Core 5.4, Vol 3, Part C, §10.4; Part G, §4.9.2): for links that are not encrypted. Since a
// bonded peer's link is encrypted first wherever there is a key for that, this host signs only towards
// peers that gave it none, but takes the signatures of all that gave it the key to check them.

extension HostMachine {
  /// Takes a peer's signed write, if its signature is right and new; others are ignored and counted, as
  /// are those over an encrypted link (Part F, §3.4.5.4).
  mutating func receiveSignedWrite(
    _ pdu: ArraySlice<UInt8>, from index: Int, now: Instant, into actions: inout [Action]
  ) {
    let peer = links.peers[index]
    guard pdu.count <= links.entries[index].info.mtu,
      case .signedWriteCommand(let handle, let value, let bytes) = try? ATTPDU(decoding: pdu),
      let signature = ATTSignature(bytes), !links.entries[index].security.isEncrypted,
      let key = security.usableBond(of: peer)?.peerSigning?.value,
      signature.isRight(for: handle, value, key: key),
      let bond = security.bonds.countPeersSignature(peer, signature.counter)
    else {
      server.ignoredCount += 1
      return
    }
    // Before anything else: a counter accepted in this run must not be accepted again in the next.
    actions.append(.updateBonds([bond]))
    withServer(now: now, into: &actions) { server, outputs in
      server.signedWrite(handle, value, from: peer, into: &outputs)
    }
  }

  /// Signs a client's write, unless the link is to be encrypted. False if the write is sent as an
  /// ordinary one, perhaps once the link is encrypted.
  mutating func signWrite(
    _ handle: UInt16, _ value: [UInt8], on index: Int, _ request: PendingRequest, now: Instant,
    into actions: inout [Action]
  ) -> Bool {
    let link = links.entries[index].security
    guard !link.isEncrypted, !link.isProvingBond else { return false }
    let peer = links.peers[index]
    let requester = requester(of: request.client)
    guard security.usableBond(of: peer) != nil,
      let (counter, key, bond) = security.bonds.countOwnSignature(peer)
    else {
      let peerHandle = links.handles[index]
      withGATT(index, now: now, into: &actions) { gatt, outputs in
        gatt.runOnceProtected(
          handle, value, for: request, of: requester, now: now, into: &outputs)
      }
      guard let index = links.index(handle: peerHandle) else { return true }
      secure(index, .encryption, for: requester, now: now, into: &actions)
      return true
    }
    actions.append(.updateBonds([bond]))
    let signature = ATTSignature(signing: handle, value, counter: counter, key: key)
    let pdu = ATTPDU.signedWriteCommand(
      handle: handle, value: value[...], signature: signature.bytes[...])
    withGATT(index, now: now, into: &actions) { gatt, outputs in
      gatt.runSigned(pdu.bytes, for: request, of: requester, now: now, into: &outputs)
    }
    return true
  }
}
