import BluetoothWire
import Essentials

/// The commands that bring a controller up, in order, and what their answers teach.
///
/// Only what the host cannot do without must succeed; a controller that doesn't know the rest is
/// taken for what it can (Core 5.4, Vol 6, Part D, §2.1).
enum StartUpStep: Int, CaseIterable, Sendable {
  case reset
  case version
  case commands
  case features
  case leFeatures
  case eventMask
  case leEventMask
  case leBufferSizeV2
  case leBufferSize
  case bufferSize
  case hostBufferSize
  case hostFlowControl
  case publicAddress
  case randomAddress
  case acceptListSize
  case maximumDataLength
  case suggestedDataLength
  case keptDataLength
  case subratingSupport
  case defaultSubrate
  case advertisingSets
  case advertisingDataLength
  case resolvingListSize
}

/// Why a controller could not be started.
enum StartUpFailure: Error, Sendable {
  /// It is no Bluetooth LE controller.
  case unsupported
  /// It answered with an error or an invalid value; the text names it.
  case wrong(String)
}

/// The progress of a controller's start.
struct StartUp: Sendable {
  private(set) var step = StartUpStep.reset
  private(set) var abilities = ControllerAbilities()
  private var knowsLE = true
  private var isHostBufferSizeRefused = false
  private let wantedAddress: DeviceAddress?
  private let madeUpAddress: DeviceAddress

  init(wantedAddress: DeviceAddress?, madeUpAddress: DeviceAddress) {
    self.wantedAddress = wantedAddress
    self.madeUpAddress = madeUpAddress
  }

  /// The command of the current step.
  var command: HCIPacket {
    switch step {
    case .reset: Reset().packet
    case .version: ReadLocalVersionInformation().packet
    case .commands: ReadLocalSupportedCommands().packet
    case .features: ReadLocalSupportedFeatures().packet
    case .eventMask: SetEventMask(mask: Self.eventMask).packet
    case .leEventMask: LESetEventMask(mask: leEventMask).packet
    case .leFeatures: LEReadLocalSupportedFeatures().packet
    case .leBufferSizeV2: LEReadBufferSizeV2().packet
    case .leBufferSize: LEReadBufferSize().packet
    case .bufferSize: ReadBufferSize().packet
    case .hostBufferSize:
      HostBufferSize(
        aclLength: Self.hostBufferLength, aclCount: UInt16(EventBacklog.Limits.hostBufferCount)
      ).packet
    case .hostFlowControl: SetControllerToHostFlowControl(mode: .acl).packet
    case .publicAddress: ReadBDADDR().packet
    case .randomAddress: LESetRandomAddress(address: abilities.address).packet
    case .acceptListSize: LEReadFilterAcceptListSize().packet
    case .maximumDataLength: LEReadMaximumDataLength().packet
    case .suggestedDataLength:
      LEWriteSuggestedDefaultDataLength(
        length: LESuggestedDataLength(
          txOctets: UInt16(clamping: abilities.linkDataByteCountMax),
          txTimeMicroseconds: UInt16(clamping: abilities.linkDataTimeMaxMicroseconds))
      ).packet
    case .keptDataLength: LEReadSuggestedDefaultDataLength().packet
    case .subratingSupport:
      LESetHostFeature(bit: Self.subratingHostSupportBit, isSet: true).packet
    case .defaultSubrate: LESetDefaultSubrate(request: Self.acceptedSubrate).packet
    case .advertisingSets: LEReadNumberOfSupportedAdvertisingSets().packet
    case .advertisingDataLength: LEReadMaximumAdvertisingDataLength().packet
    case .resolvingListSize: LEReadResolvingListSize().packet
    }
  }

  /// The name of the current step's command.
  private var name: String {
    (try? HCICommandHeader(decoding: command.bytes))?.opcode.description ?? "a command"
  }

  /// LEFeatures.connectionSubratingHostSupport.
  private static let subratingHostSupportBit: UInt8 = 38
  /// The range of subrates that a peripheral may request: everything that is valid.
  private static let acceptedSubrate = SubrateRequest(
    factorMin: 1, factorMax: 500, latencyMax: 0, continuationNumber: 0, timeoutUnits10ms: 3_200)

  /// More than any controller's LE packet, which has at most 251 bytes.
  private static let hostBufferLength: UInt16 = 1_024

  private static let eventMask: EventMask = [
    .disconnectionComplete, .encryptionChange, .readRemoteVersionInformationComplete,
    .hardwareError, .dataBufferOverflow, .encryptionKeyRefreshComplete, .leMeta,
  ]

  /// What every controller knows; the rest only for those that do, because an unknown bit may make
  /// a controller refuse them all.
  private var leEventMask: LEEventMask {
    var mask = LEEventMask.default
    let features = abilities.features
    if features.contains(.connectionParametersRequest) {
      mask.insert(.remoteConnectionParameterRequest)
    }
    if features.contains(.dataLengthExtension) { mask.insert(.dataLengthChange) }
    if features.contains(.privacy) { mask.insert(.enhancedConnectionComplete) }
    if features.contains(.le2M) || features.contains(.leCoded) { mask.insert(.phyUpdateComplete) }
    if abilities.canSubrate { mask.insert(.subrateChange) }
    if features.contains(.extendedAdvertising) {
      mask.formUnion([.extendedAdvertisingReport, .scanTimeout, .advertisingSetTerminated])
    }
    return mask
  }

  /// Goes to the next step that this controller needs; false when it is up.
  mutating func advance() -> Bool {
    var next = step.rawValue + 1
    while let candidate = StartUpStep(rawValue: next) {
      if isNeeded(candidate) {
        step = candidate
        return true
      }
      next += 1
    }
    return false
  }

  private func isNeeded(_ step: StartUpStep) -> Bool {
    switch step {
    case .reset, .version, .commands, .features, .eventMask, .leEventMask, .leFeatures,
      .publicAddress, .acceptListSize:
      true
    case .leBufferSizeV2: abilities.commands.contains(.leReadBufferSizeV2)
    case .leBufferSize: abilities.aclPacketCount == 0
    // A controller that names no buffers for LE shares those of classic Bluetooth
    // (Core 5.4, Vol 4, Part E, §7.8.2).
    case .bufferSize: abilities.aclPacketCount == 0 || abilities.aclByteCountMax == 0
    case .hostBufferSize, .hostFlowControl:
      [.hostBufferSize, .setControllerToHostFlowControl, .hostNumberOfCompletedPackets]
        .allSatisfy { abilities.commands.contains($0) } && !isHostBufferSizeRefused
    case .randomAddress: abilities.address.kind == .random
    case .maximumDataLength:
      abilities.features.contains(.dataLengthExtension)
        && abilities.commands.contains(.leReadMaximumDataLength)
    case .suggestedDataLength:
      abilities.linkDataByteCountMax > 27
        && abilities.commands.contains(.leWriteSuggestedDefaultDataLength)
    case .keptDataLength:
      isNeeded(.suggestedDataLength)
        && abilities.commands.contains(.leReadSuggestedDefaultDataLength)
    case .subratingSupport, .defaultSubrate: abilities.canSubrate
    case .advertisingSets, .advertisingDataLength: abilities.usesExtendedCommands
    case .resolvingListSize: abilities.hasResolvingList
    }
  }

  /// Learns from the answer to the current step's command.
  mutating func take(_ answer: CommandAnswer) throws(StartUpFailure) {
    guard answer.status == .success else { return try takeRefusal(answer.status) }
    var reader = ByteReader(answer.parameters)
    do throws(WireError) {
      try learn(&reader)
    } catch {
      throw .wrong("The controller's answer to \(name) is invalid.")
    }
    if step == .features, !knowsLE { throw .unsupported }
    if step == .bufferSize || (step == .leBufferSize && abilities.aclPacketCount > 0) {
      // Anything shorter could not carry even the smallest link layer packet.
      guard abilities.aclPacketCount > 0, abilities.aclByteCountMax >= 27 else {
        throw .wrong("The controller has no buffers for data.")
      }
    }
  }

  private mutating func takeRefusal(_ status: HCIStatus) throws(StartUpFailure) {
    switch step {
    case .leFeatures where status == .unknownCommand:
      throw .unsupported
    case .reset, .leFeatures, .bufferSize, .randomAddress:
      throw .wrong("The controller refused \(name): \(status).")
    case .publicAddress:
      abilities.address = chosenAddress(public: nil)
    case .hostBufferSize: isHostBufferSizeRefused = true
    case .version, .commands, .features, .eventMask, .leEventMask, .leBufferSizeV2, .leBufferSize,
      .hostFlowControl, .acceptListSize, .maximumDataLength, .suggestedDataLength, .keptDataLength,
      .subratingSupport, .defaultSubrate, .advertisingSets, .advertisingDataLength,
      .resolvingListSize:
      break
    }
  }

  private mutating func learn(_ reader: inout ByteReader) throws(WireError) {
    switch step {
    case .version:
      abilities.version = try ReadLocalVersionInformationReturn(decoding: &reader)
    case .commands: abilities.commands = try SupportedCommands(decoding: &reader)
    case .features:
      let features = try ReadLocalSupportedFeaturesReturn(decoding: &reader).features
      knowsLE = features.contains(.leSupported)
    case .leFeatures:
      abilities.features = try LEReadLocalSupportedFeaturesReturn(decoding: &reader).features
    case .leBufferSizeV2:
      let size = try LEReadBufferSizeV2Return(decoding: &reader)
      abilities.aclByteCountMax = Int(size.aclLength)
      abilities.aclPacketCount = Int(size.aclCount)
    case .leBufferSize:
      let size = try LEReadBufferSizeReturn(decoding: &reader)
      abilities.aclByteCountMax = Int(size.aclLength)
      abilities.aclPacketCount = Int(size.aclCount)
    case .bufferSize:
      let size = try ReadBufferSizeReturn(decoding: &reader)
      abilities.aclByteCountMax = Int(size.aclLength)
      abilities.aclPacketCount = Int(size.aclCount)
    case .publicAddress:
      let address = try ReadBDADDRReturn(decoding: &reader).address
      abilities.address = chosenAddress(public: address)
    case .acceptListSize:
      abilities.acceptListCapacity = Int(try ListSizeReturn(decoding: &reader).count)
    case .maximumDataLength:
      let length = try LEMaximumDataLength(decoding: &reader)
      abilities.linkDataByteCountMax = Int(length.txOctets)
      abilities.linkDataTimeMaxMicroseconds = Int(length.txTimeMicroseconds)
    case .keptDataLength:
      abilities.suggestedDataLength = try LESuggestedDataLength(decoding: &reader)
    case .advertisingSets:
      let count = try LEReadNumberOfSupportedAdvertisingSetsReturn(decoding: &reader).count
      abilities.advertisingSetCount = Int(count)
    case .advertisingDataLength:
      let count = try LEReadMaximumAdvertisingDataLengthReturn(decoding: &reader).byteCount
      abilities.advertisingDataByteCountMax = Int(count)
    case .resolvingListSize:
      abilities.resolvingListCapacity = Int(try ListSizeReturn(decoding: &reader).count)
    case .hostFlowControl: abilities.usesHostFlowControl = true
    case .reset, .eventMask, .leEventMask, .hostBufferSize, .randomAddress, .suggestedDataLength,
      .subratingSupport, .defaultSubrate:
      break
    }
  }

  /// The configured address if it is a random one (a public one can't be set); or else the
  /// controller's public one, or a generated one.
  private func chosenAddress(public address: DeviceAddress?) -> DeviceAddress {
    if let wantedAddress, wantedAddress.kind == .random { return wantedAddress }
    if let address, address.bits != 0, address.bits != 0xFFFF_FFFF_FFFF { return address }
    return madeUpAddress
  }
}
