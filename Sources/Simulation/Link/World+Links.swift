import BluetoothWire
import Essentials

// Making and ending links, and deliveries without pacing.

extension World {
  func connect(_ plan: LinkPlan) {
    let index = freeLinks.popLast() ?? links.count
    let link = AirLink(plan, world: self, index: index)
    if index == links.count { links.append(link) } else { links[index] = link }
    plan.central.add(link.central)
    if plan.isHeard { plan.peripheral.add(link.peripheral) }
    plan.central.announce(
      link.central, own: plan.centralAddress, peerPrivate: plan.advertiser.address)
    if plan.isHeard {
      plan.peripheral.announce(
        link.peripheral, own: plan.advertiser.address, peerPrivate: plan.centralAddress)
      plan.peripheral.advertisingDidEnd(
        set: plan.advertiser.ownerSet, status: .success, connection: link.peripheral.handle)
    }
    for end in [link.central, link.peripheral] where end.isAlive {
      end.controller.send(LEChannelSelectionAlgorithm(handle: end.handle, algorithm: 1))
    }
    // Hosts that suggest longer packets get them without asking again.
    if link.central.ownLength.txOctets > 27 {
      link.central.startProcedure(.lengthRequest(link.central.ownLength))
    }
    link.scheduleEvent()
  }

  func remove(_ link: AirLink) {
    guard links[link.index] === link else { return }
    links[link.index] = nil
    freeLinks.append(link.index)
  }

  func requestDelivery(_ index: Int) {
    if pendingDeliveries.isEmpty {
      queue.push(.delivery, at: now.nanoseconds, subject: 0)
    }
    pendingDeliveries.append(index)
  }

  func deliverPending() {
    var indices: [Int] = []
    swap(&indices, &pendingDeliveries)
    for index in indices { links[index]?.deliverNow() }
  }
}

extension SimulatedController {
  /// The lowest handle that no connection has; 0 is left out because some hosts mistrust it.
  func freeHandle() -> UInt16 {
    let free = endpoints.dropFirst().firstIndex { $0 == nil } ?? endpoints.count
    return UInt16(truncatingIfNeeded: free)
  }

  func add(_ endpoint: Endpoint) {
    let index = Int(endpoint.handle)
    if index == endpoints.count { endpoints.append(endpoint) } else { endpoints[index] = endpoint }
    endpointCount += 1
  }

  func remove(_ endpoint: Endpoint) {
    guard self.endpoint(endpoint.handle) === endpoint else { return }
    endpoints[Int(endpoint.handle)] = nil
    endpointCount -= 1
    aclPacketsHeld -= endpoint.packetsTaken
    // What the host holds of a connection that has ended occupies no buffer any more
    // (Core 5.4, Vol 4, Part E, §4.2).
    releaseHostBuffers(endpoint.hostBuffersUsed)
  }

  func announce(_ endpoint: Endpoint, own: DeviceAddress?, peerPrivate: DeviceAddress?) {
    sendConnectionComplete(
      status: .success, handle: endpoint.handle, role: endpoint.role, peer: endpoint.peer,
      own: own, peerPrivate: peerPrivate, timing: endpoint.link.timing)
  }

  /// Takes data from the host for one of its connections.
  func receiveACL(_ packet: HCIPacket) {
    let bytes = packet.bytes
    let start = bytes.startIndex
    guard bytes.count > ACLHeader.byteCount else { return drop() }
    let handle = Int(bytes[start]) | Int(bytes[start + 1] & 0x0F) << 8
    let length = Int(bytes[start + 2]) | Int(bytes[start + 3]) << 8
    guard length == bytes.count - ACLHeader.byteCount,
      length <= Int(capabilities.aclPacketLength), bytes[start + 1] & 0xC0 == 0,
      handle < endpoints.count, let endpoint = endpoints[handle]
    else { return drop() }
    guard aclPacketsHeld < Int(capabilities.aclPacketCount) else {
      drop()
      return afterAnswer { $0.send(DataBufferOverflow(linkType: 1)) }
    }
    aclPacketsHeld += 1
    endpoint.packetsTaken += 1
    endpoint.append(packet)
  }

  /// Reports to the host that packets were completed and their buffers are free.
  func complete(_ count: Int, on endpoint: Endpoint) {
    guard !faults.withholdsCompletedPackets else { return }
    endpoint.packetsTaken -= count
    aclPacketsHeld -= count
    let (handle, count) = (endpoint.handle, UInt16(truncatingIfNeeded: count))
    deliver(
      HCIPacket(
        kind: .event,
        bytes: [
          NumberOfCompletedPackets.code.event, 5, 1,
          UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8),
          UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8),
        ]))
  }
}
