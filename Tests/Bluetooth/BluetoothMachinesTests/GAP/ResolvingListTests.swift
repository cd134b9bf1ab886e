import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import PairingMachines

@Suite("The controller's resolving list")
struct ResolvingListTests {
  private let start = Instant.zero + .seconds(1)

  private static func bond(_ number: UInt64, isPrivate: Bool = true) -> Bond {
    Bond(
      identity: .peer(number),
      knownAddress: isPrivate
        ? DeviceAddress(bits: 0x4000_0000_0000 | number, kind: .random) : nil,
      centralKey: nil, peripheralKey: nil,
      identityResolvingKey: SMPValue(number: UInt128(number)), isAuthenticated: false,
      isSecureConnections: true)
  }

  /// A list of these bonds; all of their peers are requested unless `urgentCount` is given.
  private func list(
    capacity: Int, hasModes: Bool = true, _ bonds: [Bond] = [], urgentCount: Int? = nil
  ) -> ResolvingList {
    var abilities = ControllerAbilities()
    abilities.resolvingListCapacity = capacity
    if hasModes { abilities.commands = SupportedCommands([.leSetPrivacyMode]) }
    var list = ResolvingList()
    list.controllerStarted(abilities, privateAddressInterval: .seconds(900))
    list.want(bonds, urgentCount: urgentCount ?? bonds.count, localKey: SMPValue(number: 7))
    return list
  }

  /// Lets the list change while the air is silent; the opcodes of its commands.
  private func change(
    _ list: inout ResolvingList, _ answer: (HCIOpcode) -> HCIStatus = { _ in .success }
  ) throws -> [HCIOpcode] {
    var opcodes: [HCIOpcode] = []
    while list.needsSilence(now: start), let packet = list.nextCommand(), opcodes.count < 100 {
      let opcode = try HCICommandHeader(decoding: packet.bytes).opcode
      opcodes.append(opcode)
      list.commandCompleted(answer(opcode), now: start)
    }
    return opcodes
  }

  @Test("the resolving list is filled before anything is on the air, with each peer's privacy mode")
  func filled() throws {
    var list = list(capacity: 8, [Self.bond(1), Self.bond(2, isPrivate: false)])
    #expect(!list.resolves(.peer(1)) && list.trust == .untested)
    let opcodes = try change(&list)
    #expect(
      opcodes == [
        .leAddDeviceToResolvingList, .leAddDeviceToResolvingList, .leSetPrivacyMode,
        .leSetResolvablePrivateAddressTimeout, .leSetAddressResolutionEnable,
      ])
    #expect(list.resolves(.peer(1)) && list.resolves(.peer(2)))
    #expect(list.entries.map(\.mode) == [.network, .device])
    let isSilent = list.needsSilence(now: start)
    #expect(!isSilent && list.nextCommand() == nil)
  }

  @Test("a new bond waits for silence, a wanted peer and a bond that is gone don't")
  func urgency() throws {
    let bonds = (0...3).map { Self.bond($0, isPrivate: false) }
    var list = list(capacity: 8, [bonds[1]], urgentCount: 0)
    _ = try change(&list)
    list.want([bonds[2], bonds[1]], urgentCount: 0, localKey: nil)
    // The entry of the first has another key of this host by now.
    var needsSilence = list.needsSilence(now: start)
    #expect(needsSilence)
    let adding: [HCIOpcode] = [.leAddDeviceToResolvingList, .leSetPrivacyMode]
    #expect(try change(&list) == [.leRemoveDeviceFromResolvingList] + adding + adding)
    list.want([bonds[3], bonds[2], bonds[1]], urgentCount: 0, localKey: nil)
    needsSilence = list.needsSilence(now: start)
    #expect(!needsSilence)
    list.want([bonds[3], bonds[2], bonds[1]], urgentCount: 1, localKey: nil)
    needsSilence = list.needsSilence(now: start)
    #expect(needsSilence && !list.resolves(.peer(3)))
    #expect(try change(&list) == adding && list.resolves(.peer(3)))
    list.want([bonds[2]], urgentCount: 0, localKey: nil)
    #expect(try change(&list).count == 2 && list.entries.map(\.identity) == [.peer(2)])
  }

  @Test("a peer that has shown no identity is listed while it is wanted, and no longer")
  func unshownIdentity() throws {
    let bonds = [Self.bond(1), Self.bond(2, isPrivate: false)]
    var list = list(capacity: 8, bonds, urgentCount: 0)
    _ = try change(&list)
    #expect(list.entries.map(\.identity) == [.peer(2)] && !list.hides(.peer(1)))
    list.want(bonds, urgentCount: 1, localKey: SMPValue(number: 7))
    #expect(try change(&list) == [.leAddDeviceToResolvingList])
    #expect(list.resolves(.peer(1)) && list.hides(.peer(1)))
    list.want(bonds, urgentCount: 0, localKey: SMPValue(number: 7))
    let needsSilence = list.needsSilence(now: start)
    #expect(needsSilence, "its identity may be a stranger's, who isn't heard meanwhile")
    #expect(try change(&list) == [.leRemoveDeviceFromResolvingList])
    #expect(list.entries.map(\.identity) == [.peer(2)] && !list.hides(.peer(1)))
  }

  @Test("a full list holds requested peers; a controller may take fewer than it reports")
  func full() throws {
    let bonds = (1...6).map { Self.bond($0) }
    var list = list(capacity: 2, bonds)
    _ = try change(&list)
    #expect(list.entries.map(\.identity) == [.peer(1), .peer(2)])
    list.want([bonds[4], bonds[5]] + bonds[..<4], urgentCount: 2, localKey: SMPValue(number: 7))
    _ = try change(&list)
    #expect(Set(list.entries.map(\.identity)) == [.peer(5), .peer(6)])
    var other = self.list(capacity: 4, bonds)
    var count = 0
    _ = try change(&other) { opcode in
      if opcode == .leAddDeviceToResolvingList { count += 1 }
      return opcode == .leAddDeviceToResolvingList && count > 1 ? .memoryCapacityExceeded : .success
    }
    #expect(other.entries.count == 1 && other.capacity == 1 && other.resolves(.peer(1)))
  }

  @Test(
    "a command refused because of activity on air is repeated, less and less often")
  func refused() throws {
    var list = list(capacity: 4, [Self.bond(1)], urgentCount: 1)
    var now = start
    var pauses: [TimeSpan] = []
    for _ in 1...8 {
      let needsSilence = list.needsSilence(now: now)
      #expect(needsSilence && list.nextCommand() != nil)
      list.commandCompleted(.commandDisallowed, now: now)
      let isQuiet = list.needsSilence(now: now)
      #expect(!isQuiet && list.nextCommand() == nil)
      let wake = list.nextWake ?? now
      pauses.append(wake - now)
      now = wake
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 64].map { TimeSpan.seconds($0) })
  }

  @Test("without modes, peers that show their identities are left out")
  func modes() throws {
    var list = list(capacity: 4, hasModes: false, [Self.bond(2, isPrivate: false), Self.bond(1)])
    _ = try change(&list)
    #expect(list.entries.map(\.identity) == [.peer(1)])
    // A controller that lists the command and refuses it: the entry goes again.
    var other = self.list(capacity: 4, [Self.bond(2, isPrivate: false), Self.bond(1)])
    _ = try change(&other) { $0 == .leSetPrivacyMode ? .unknownCommand : .success }
    #expect(other.entries.map(\.identity) == [.peer(1)] && other.resolves(.peer(1)))
  }

  @Test("a controller that leaves listed peers unresolved is not relied on any more")
  func fails() throws {
    var list = list(capacity: 4, [Self.bond(1)])
    let tooEarly = list.addressLeftUnresolved(of: .peer(1))
    #expect(!tooEarly)
    _ = try change(&list)
    let others = (1...9).map { _ in list.addressLeftUnresolved(of: .peer(9)) }
    #expect(!others.contains(true))
    let own = (1...3).map { _ in list.addressLeftUnresolved(of: .peer(1)) }
    #expect(own == [false, false, true] && list.trust == .fails && !list.resolves(.peer(1)))
    #expect(try change(&list) == [.leSetAddressResolutionEnable])
    // One that resolved an address goes on being relied on.
    var good = self.list(capacity: 4, [Self.bond(1)])
    _ = try change(&good)
    let isNews = [good.addressResolved(), good.addressResolved()]
    let slips = (1...9).map { _ in good.addressLeftUnresolved(of: .peer(1)) }
    #expect(isNews == [true, false] && !slips.contains(true) && good.resolves(.peer(1)))
  }

  @Test("a controller without a list is asked for nothing")
  func none() throws {
    var list = list(capacity: 0, [Self.bond(1)], urgentCount: 1)
    let needsSilence = list.needsSilence(now: start)
    #expect(!needsSilence && list.nextCommand() == nil && list.trust == .fails)
  }
}
