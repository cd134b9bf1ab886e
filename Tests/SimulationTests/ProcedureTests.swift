import BluetoothWire
import Essentials
import Simulation
import Testing

@Suite("Link-layer procedures")
struct ProcedureTests {
  private func timing(_ interval: UInt16) -> ConnectionTimingRequest {
    ConnectionTimingRequest(
      intervalMinUnits1250us: interval, intervalMaxUnits1250us: interval, latency: 0,
      timeoutUnits10ms: 300)
  }

  private func update(_ host: ScriptedHost) -> LEConnectionUpdateComplete? {
    host.wait { if case .leConnectionUpdateComplete(let event) = $0 { event } else { nil } }
  }

  @Test("a central changes the timing, and both hosts learn it")
  func connectionUpdate() throws {
    let pair = try #require(ConnectedPair(seed: 1))
    #expect(
      pair.central.perform(LEConnectionUpdate(handle: pair.centralHandle, timing: timing(80)))
        == .success)
    #expect(try #require(update(pair.central)).timing.intervalUnits1250us == 80)
    #expect(try #require(update(pair.peripheral)).timing.intervalUnits1250us == 80)
    // Another is possible afterwards.
    pair.central.perform(LEConnectionUpdate(handle: pair.centralHandle, timing: timing(6)))
    #expect(try #require(update(pair.peripheral)).timing.intervalUnits1250us == 6)
  }

  @Test("a peripheral's request goes to the central's host, which grants or refuses it")
  func parameterRequest() throws {
    let pair = try #require(ConnectedPair(seed: 2))
    func request() -> LERemoteConnectionParameterRequest? {
      pair.peripheral.perform(
        LEConnectionUpdate(handle: pair.peripheralHandle, timing: timing(60)))
      return pair.central.wait {
        if case .leRemoteConnectionParameterRequest(let event) = $0 { event } else { nil }
      }
    }
    #expect(try #require(request()).intervalMaxUnits1250us == 60)
    #expect(
      pair.central.perform(
        LERemoteConnectionParameterRequestReply(
          handle: pair.centralHandle, timing: timing(60))) == .success)
    #expect(try #require(update(pair.peripheral)).status == .success)
    #expect(try #require(update(pair.central)).timing.intervalUnits1250us == 60)

    #expect(request() != nil)
    pair.central.perform(
      LERemoteConnectionParameterRequestNegativeReply(
        handle: pair.centralHandle, reason: .unacceptableConnectionParameters))
    #expect(try #require(update(pair.peripheral)).status == .unacceptableConnectionParameters)
    // No request is pending now.
    #expect(
      pair.central.perform(
        LERemoteConnectionParameterRequestReply(
          handle: pair.centralHandle, timing: timing(60))) == .commandDisallowed)
  }

  @Test("a central whose host masked the request refuses it as unsupported")
  func maskedParameterRequest() throws {
    let pair = try #require(ConnectedPair(seed: 3))
    pair.central.perform(LESetEventMask(mask: .default))
    pair.peripheral.perform(LEConnectionUpdate(handle: pair.peripheralHandle, timing: timing(60)))
    #expect(try #require(update(pair.peripheral)).status == .unsupportedRemoteFeature)
  }

  @Test("longer packets are agreed, reported to both, and used")
  func dataLength() throws {
    let pair = try #require(ConnectedPair(seed: 4))
    pair.central.perform(
      LESetDataLength(handle: pair.centralHandle, txOctets: 251, txTimeMicroseconds: 2_120))
    func change(_ host: ScriptedHost) -> LEDataLengthChange? {
      host.wait { if case .leDataLengthChange(let event) = $0 { event } else { nil } }
    }
    #expect(try #require(change(pair.central)).length.txOctets == 251)
    #expect(try #require(change(pair.peripheral)).length.rxOctets == 251)
    pair.central.sendData([UInt8](repeating: 1, count: 200), on: pair.centralHandle)
    pair.world.run(for: .seconds(1))
    #expect(pair.peripheral.data.map(\.payload.count) == [200])
  }

  @Test("a suggested data length is agreed without asking when a link is made")
  func suggestedDataLength() throws {
    let pair = try #require(
      ConnectedPair(seed: 5) { central, peripheral in
        for host in [central, peripheral] {
          host.perform(
            LEWriteSuggestedDefaultDataLength(
              length: .init(txOctets: 251, txTimeMicroseconds: 2_120)))
        }
      })
    let change = pair.peripheral.wait {
      if case .leDataLengthChange(let event) = $0 { event.length } else { nil }
    }
    #expect(try #require(change).txOctets == 251)
  }

  @Test("either side moves the link to another PHY, as far as both want it")
  func phy() throws {
    let pair = try #require(ConnectedPair(seed: 6))
    func done(_ host: ScriptedHost) -> LEPHYUpdateComplete? {
      host.wait { if case .lePHYUpdateComplete(let event) = $0 { event } else { nil } }
    }
    pair.peripheral.perform(
      LESetPHY(
        handle: pair.peripheralHandle, preference: .init(transmit: .le2M, receive: .le2M)))
    #expect(try #require(done(pair.peripheral)).transmit == .le2M)
    #expect(try #require(done(pair.central)).receive == .le2M)
    pair.central.perform(
      LESetPHY(handle: pair.centralHandle, preference: .init(transmit: .leCoded, receive: .le1M)))
    let toCoded = try #require(done(pair.central))
    #expect(toCoded.transmit == .le2M, "the peripheral receives on 2M only")
    #expect(toCoded.receive == .le2M)
    #expect(pair.central.value(LEReadPHY(handle: pair.centralHandle))?.transmit == .le2M)
  }

  @Test("features and versions are exchanged from both roles")
  func featuresAndVersions() throws {
    let pair = try #require(ConnectedPair(seed: 7))
    for (host, handle) in [
      (pair.central, pair.centralHandle), (pair.peripheral, pair.peripheralHandle),
    ] {
      host.perform(LEReadRemoteFeatures(handle: handle))
      let features = host.wait {
        if case .leReadRemoteFeaturesComplete(let event) = $0 { event.features } else { nil }
      }
      #expect(try #require(features).contains(.encryption))
      for _ in 0..<2 {
        host.perform(ReadRemoteVersionInformation(handle: handle))
        let version = host.wait {
          if case .readRemoteVersionInformationComplete(let event) = $0 {
            event.version
          } else {
            nil
          }
        }
        #expect(version == 13)
      }
    }
  }

  private func encryption(_ host: ScriptedHost) -> EncryptionChange? {
    host.wait { if case .encryptionChange(let event) = $0 { event } else { nil } }
  }

  private func keyRequest(_ pair: ConnectedPair) -> LELongTermKeyRequest? {
    pair.peripheral.wait {
      if case .leLongTermKeyRequest(let event) = $0 { event } else { nil }
    }
  }

  @Test("one key on both sides encrypts the link; again with another refreshes it")
  func encrypts() throws {
    let pair = try #require(ConnectedPair(seed: 8))
    for round in UInt128(1)...2 {
      #expect(
        pair.central.perform(
          LEEnableEncryption(
            handle: pair.centralHandle, random: 5, diversifier: 6, longTermKey: round))
          == .success)
      let request = try #require(keyRequest(pair))
      #expect(request.random == 5)
      #expect(request.diversifier == 6)
      // Data waits while keys change.
      pair.central.sendData([UInt8(round)], on: pair.centralHandle)
      pair.world.run(for: .seconds(1))
      #expect(pair.peripheral.data.count == Int(round) - 1)
      pair.peripheral.perform(
        LELongTermKeyRequestReply(handle: pair.peripheralHandle, longTermKey: round))
      if round == 1 {
        #expect(try #require(encryption(pair.central)).encryption == .on)
        #expect(try #require(encryption(pair.peripheral)).encryption == .on)
      } else {
        for host in [pair.central, pair.peripheral] {
          #expect(
            host.wait { if case .encryptionKeyRefreshComplete = $0 { true } else { nil } } == true)
        }
      }
      pair.world.run(for: .seconds(1))
      #expect(pair.peripheral.data.count == Int(round))
    }
  }

  @Test("different keys end the link with a MIC failure")
  func keyMismatch() throws {
    let pair = try #require(ConnectedPair(seed: 9))
    pair.central.perform(
      LEEnableEncryption(
        handle: pair.centralHandle, random: 0, diversifier: 0, longTermKey: 1))
    _ = try #require(keyRequest(pair))
    pair.peripheral.perform(
      LELongTermKeyRequestReply(handle: pair.peripheralHandle, longTermKey: 2))
    #expect(pair.central.waitForDisconnection() == .micFailure)
    #expect(pair.peripheral.waitForDisconnection() == .micFailure)
  }

  @Test("a peripheral without the key reports that, and the link stays, unencrypted")
  func keyMissing() throws {
    let pair = try #require(ConnectedPair(seed: 10))
    pair.central.perform(
      LEEnableEncryption(
        handle: pair.centralHandle, random: 0, diversifier: 0, longTermKey: 1))
    _ = try #require(keyRequest(pair))
    pair.peripheral.perform(
      LELongTermKeyRequestNegativeReply(handle: pair.peripheralHandle))
    let change = try #require(encryption(pair.central))
    #expect(change.status == .pinOrKeyMissing)
    #expect(change.encryption == .off)
    pair.central.sendData([1], on: pair.centralHandle)
    pair.world.run(for: .seconds(1))
    #expect(pair.peripheral.data.count == 1)
  }

  @Test("a peripheral that never answers loses the link after forty seconds")
  func responseTimeout() throws {
    let pair = try #require(ConnectedPair(seed: 11))
    pair.central.perform(
      LEEnableEncryption(
        handle: pair.centralHandle, random: 0, diversifier: 0, longTermKey: 1))
    let start = pair.world.now
    #expect(pair.central.waitForDisconnection() == .linkResponseTimeout)
    #expect(abs((pair.world.now - start).seconds - 40) < 0.1)
  }

  @Test("the host's channel classification becomes the link's channel map")
  func channelMap() throws {
    let pair = try #require(ConnectedPair(seed: 12))
    let map = ChannelMap(bits: 0xFF)
    #expect(
      pair.central.perform(LESetHostChannelClassification(channels: map)) == .success)
    pair.world.run(for: .seconds(1))
    #expect(
      pair.peripheral.value(LEReadChannelMap(handle: pair.peripheralHandle))?.channels == map)
    #expect(
      pair.central.perform(LESetHostChannelClassification(channels: ChannelMap(bits: 1)))
        == .invalidParameters)
  }
}

@Suite("Privacy")
struct PrivacyTests {
  private static let key: UInt128 = 0xEC02_34A3_57C8_AD05_3410_10A6_0A39_7D9B
  private static let otherKey: UInt128 = 0x0001_0203_0405_0607_0809_0A0B_0C0D_0E0F

  /// A scanner that holds the advertiser's key, and the advertiser using private addresses.
  private func pair(
    _ seed: UInt64, timeout: UInt16 = 900
  ) -> (World, scanner: ScriptedHost, advertiser: ScriptedHost) {
    let world = World(seed: seed)
    let scanner = ScriptedHost(world, "scanner", address: 1)
    let advertiser = ScriptedHost(world, "advertiser", address: 2, at: Position(x: 1))
    scanner.start()
    advertiser.start()
    scanner.perform(
      LEAddDeviceToResolvingList(
        peerIdentity: advertiser.address, peerKey: Self.key, localKey: Self.otherKey))
    scanner.perform(LESetAddressResolutionEnable(isEnabled: true))
    advertiser.perform(
      LEAddDeviceToResolvingList(
        peerIdentity: scanner.address, peerKey: Self.otherKey, localKey: Self.key))
    advertiser.perform(LESetResolvablePrivateAddressTimeout(seconds: timeout))
    advertiser.perform(LESetAddressResolutionEnable(isEnabled: true))
    advertiser.perform(
      LESetAdvertisingParameters(
        intervalMinUnits625us: 64, intervalMaxUnits625us: 64,
        ownAddressType: .resolvableOrPublic, peer: scanner.address))
    advertiser.perform(LESetAdvertisingEnable(isEnabled: true))
    return (world, scanner, advertiser)
  }

  @Test("a scanner with the key reports the identity, one without a changing private address")
  func resolves() throws {
    let (world, scanner, advertiser) = pair(1, timeout: 5)
    let stranger = ScriptedHost(world, "stranger", address: 3)
    stranger.start()
    scanner.scan()
    stranger.scan()
    world.run(for: .seconds(12))
    #expect(scanner.reports.count > 100)
    #expect(
      scanner.reports.allSatisfy {
        $0.advertiser == PeerAddress(advertiser.address, isIdentity: true)
      })
    let addresses = Set(stranger.reports.map(\.advertiser.address))
    #expect(addresses.count == 3, "a new one every five seconds")
    #expect(addresses.allSatisfy { $0.randomKind == .resolvable })
    let heard = scanner.value(LEReadPeerResolvableAddress(peerIdentity: advertiser.address))
    #expect(addresses.contains(try #require(heard).address))
  }

  @Test("a central connects by identity, with a private address of its own")
  func connects() throws {
    let (_, central, advertiser) = pair(2)
    central.perform(
      LECreateConnection(
        peer: PeerAddress(advertiser.address, isIdentity: true),
        ownAddressType: .resolvableOrPublic,
        timing: .init(
          intervalMinUnits1250us: 24, intervalMaxUnits1250us: 24, latency: 0,
          timeoutUnits10ms: 100)))
    let a = try #require(central.waitForConnection())
    #expect(a.peer == PeerAddress(advertiser.address, isIdentity: true))
    #expect(a.localPrivateAddress?.randomKind == .resolvable)
    #expect(a.peerPrivateAddress?.randomKind == .resolvable)
    let b = try #require(advertiser.waitForConnection())
    #expect(b.peer == PeerAddress(central.address, isIdentity: true))
    #expect(b.localPrivateAddress == a.peerPrivateAddress)
  }

  @Test("a known device in network privacy mode is not heard under its identity address")
  func networkPrivacy() {
    let (world, scanner, advertiser) = pair(3)
    advertiser.perform(LESetAdvertisingEnable(isEnabled: false))
    advertiser.advertise()
    scanner.scan()
    world.run(for: .seconds(2))
    #expect(scanner.reports.isEmpty)
    scanner.perform(LESetScanEnable(isEnabled: false))
    #expect(
      scanner.perform(LESetPrivacyMode(peerIdentity: advertiser.address, mode: .device))
        == .success)
    scanner.scan()
    world.run(for: .seconds(2))
    #expect(!scanner.reports.isEmpty)
  }

  @Test("the resolving list doesn't change while it is used")
  func listInUse() {
    let (_, scanner, advertiser) = pair(4)
    scanner.scan()
    #expect(scanner.perform(LEClearResolvingList()) == .commandDisallowed)
    #expect(
      scanner.perform(LESetAddressResolutionEnable(isEnabled: false)) == .commandDisallowed)
    scanner.perform(LESetScanEnable(isEnabled: false))
    #expect(
      scanner.perform(LERemoveDeviceFromResolvingList(peerIdentity: advertiser.address))
        == .success)
    #expect(
      scanner.perform(LERemoveDeviceFromResolvingList(peerIdentity: advertiser.address))
        == .unknownConnection)
  }
}
