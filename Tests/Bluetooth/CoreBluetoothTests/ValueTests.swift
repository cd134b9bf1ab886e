import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import CoreBluetooth

@Suite("Core Bluetooth's values")
struct ValueTests {
  @Test("raw values are Apple's")
  func rawValues() {
    let states: [CBManagerState] = [
      .unknown, .resetting, .unsupported, .unauthorized, .poweredOff, .poweredOn,
    ]
    #expect(states.map(\.rawValue) == Array(0...5))
    let authorizations: [CBManagerAuthorization] = [
      .notDetermined, .restricted, .denied, .allowedAlways,
    ]
    #expect(authorizations.map(\.rawValue) == Array(0...3))
    let peripheralStates: [CBPeripheralState] = [
      .disconnected, .connecting, .connected, .disconnecting,
    ]
    #expect(peripheralStates.map(\.rawValue) == Array(0...3))
    #expect(CBCharacteristicWriteType.withResponse.rawValue == 0)
    #expect(CBCharacteristicWriteType.withoutResponse.rawValue == 1)
    let latencies: [CBPeripheralManagerConnectionLatency] = [.low, .medium, .high]
    #expect(latencies.map(\.rawValue) == Array(0...2))
    #expect(CBConnectionEvent.peerDisconnected.rawValue == 0)
    #expect(CBConnectionEvent.peerConnected.rawValue == 1)
    #expect(CBCentralManager.Feature.extendedScanAndConnect.rawValue == 1)
    #expect(CBCentralManager.Feature.channelSounding.rawValue == 1 << 10)
    let properties: [CBCharacteristicProperties] = [
      .broadcast, .read, .writeWithoutResponse, .write, .notify, .indicate,
      .authenticatedSignedWrites, .extendedProperties, .notifyEncryptionRequired,
      .indicateEncryptionRequired,
    ]
    #expect(properties.map(\.rawValue) == (0..<10).map { 1 << $0 })
    let permissions: [CBAttributePermissions] = [
      .readable, .writeable, .readEncryptionRequired, .writeEncryptionRequired,
    ]
    #expect(permissions.map(\.rawValue) == [1, 2, 4, 8])
  }

  @Test("error codes are Apple's")
  func errorCodes() {
    let codes: [CBError.Code] = [
      .unknown, .invalidParameters, .invalidHandle, .notConnected, .outOfSpace,
      .operationCancelled, .connectionTimeout, .peripheralDisconnected, .uuidNotAllowed,
      .alreadyAdvertising, .connectionFailed, .connectionLimitReached, .unknownDevice,
      .operationNotSupported, .peerRemovedPairingInformation, .encryptionTimedOut,
      .tooManyLEPairedDevices, .leGattExceededBackgroundNotificationLimit,
      .leGattNearBackgroundNotificationLimit,
    ]
    #expect(codes.map(\.rawValue) == Array(0...18))
    let attCodes: [CBATTError.Code] = [
      .success, .invalidHandle, .readNotPermitted, .writeNotPermitted, .invalidPdu,
      .insufficientAuthentication, .requestNotSupported, .invalidOffset,
      .insufficientAuthorization, .prepareQueueFull, .attributeNotFound, .attributeNotLong,
      .insufficientEncryptionKeySize, .invalidAttributeValueLength, .unlikelyError,
      .insufficientEncryption, .unsupportedGroupType, .insufficientResources,
    ]
    #expect(attCodes.map(\.rawValue) == Array(0...17))
  }

  @Test("errors are caught by code and read as NSErrors")
  func errors() {
    func fail(_ error: any Error) throws { throw error }
    do {
      try fail(CBError(.connectionTimeout))
    } catch CBError.connectionTimeout {
    } catch { Issue.record("\(error)") }
    do {
      try fail(CBATTError(.readNotPermitted))
    } catch CBATTError.readNotPermitted {
    } catch { Issue.record("\(error)") }
    let error: any Error = CBError(.peripheralDisconnected)
    #expect((error as NSError).domain == CBErrorDomain)
    #expect((error as NSError).code == 7)
    #expect(error.localizedDescription == "The specified device has disconnected from us.")
    #expect(CBError(.unknown) == CBError(.unknown, userInfo: ["a": 1]))
  }

  @Test("an application's own code is a CBATTError with that code")
  func applicationError() {
    let error = HostError.att(ATTErrorCode(rawValue: 0x80), handle: 3).coreBluetoothError
    #expect((error as? CBATTError)?.errorCode == 0x80)
    #expect((error as? CBATTError)?.code == CBATTError.Code(rawValue: 0x80))
    #expect((0...0xFF).allSatisfy { CBATTError.Code(rawValue: $0)?.rawValue == $0 })
    #expect(CBATTError.Code(rawValue: 0x100) == nil)
    #expect((error as NSError).domain == CBATTErrorDomain)
    #expect((error as NSError).code == 0x80)
    #expect(HostError.disconnected(HCIStatus(rawValue: 0x08)).coreBluetoothError is CBError)
  }

  @Test("an error is made from an NSError and back")
  func fromNSError() {
    let lost: (any Error)? = CBError(.peripheralDisconnected, userInfo: ["why": "battery"])
    let error = (lost as NSError?).map { CBError(_nsError: $0) }
    #expect(error?.code == .peripheralDisconnected)
    #expect(error?.userInfo["why"] as? String == "battery")
    #expect(CBError(_nsError: NSError(domain: CBErrorDomain, code: 99)).code == .unknown)
    #expect(CBATTError(_nsError: NSError(domain: CBATTErrorDomain, code: 0x80)).errorCode == 0x80)
    #expect(CBATTError(_nsError: NSError(domain: "", code: -1)).code == .unlikelyError)
  }

  @Test("the descriptor strings are the assigned numbers")
  func descriptorStrings() {
    let strings = [
      CBUUIDCharacteristicExtendedPropertiesString, CBUUIDCharacteristicUserDescriptionString,
      CBUUIDClientCharacteristicConfigurationString,
      CBUUIDServerCharacteristicConfigurationString, CBUUIDCharacteristicFormatString,
      CBUUIDCharacteristicAggregateFormatString, CBUUIDCharacteristicValidRangeString,
    ]
    #expect(strings == (0x2900...0x2906).map { String($0, radix: 16) })
    #expect(
      CBUUID(string: CBUUIDL2CAPPSMCharacteristicString).uuidString
        == "ABDD3056-28FA-441D-A470-55A75A52553A")
  }
}

@Suite("CBUUID")
struct CBUUIDTests {
  @Test("short forms are equal to their long form")
  func equality() {
    let forms = ["180D", "0000180D", "0000180d-0000-1000-8000-00805f9b34fb"].map {
      CBUUID(string: $0)
    }
    #expect(Set(forms).count == 1)
    #expect(forms[0] != CBUUID(string: "180E"))
    let dictionary = [forms[0]: 1]
    #expect(dictionary[forms[2]] == 1)
  }

  @Test("text and data are as long as what it was made from")
  func forms() {
    #expect(CBUUID(string: "180d").uuidString == "180D")
    #expect(CBUUID(string: "180d").description == "Heart Rate")
    #expect(CBUUID(string: "2A37").description == "Heart Rate Measurement")
    #expect(CBUUID(string: "2902").description == "Client Characteristic Configuration")
    #expect(CBUUID(string: "0001").description == "0001")
    #expect(CBUUID(string: "180D").data == Data([0x18, 0x0D]))
    #expect(CBUUID(data: Data([0x18, 0x0D])) == CBUUID(string: "180D"))
    #expect(CBUUID(data: Data([0, 1, 0x18, 0x0D])).uuidString == "0001180D")
    let long = "6E400001-B5A3-F393-E0A9-E50E24DCCA9E"
    #expect(CBUUID(string: long).uuidString == long)
    #expect(CBUUID(string: long).data.first == 0x6E)
    #expect(CBUUID(nsuuid: UUID(uuidString: long) ?? UUID.strap).uuidString == long)
    #expect(CBUUID(string: long).copy() as? CBUUID == CBUUID(string: long))
  }

  @Test("text that is no UUID is a programming error")
  func invalid() async {
    let end = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = CBUUID(string: "heart rate")
    }
    let message = String(decoding: end?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("'heart rate' is not a UUID"))
  }
}

@Suite("Peer identifiers")
struct PeerIdentifierTests {
  @Test("an identifier holds the address and has version 8")
  func roundTrip() throws {
    #expect(UUID.strap.uuidString == "414D4249-5400-8000-8001-C00000000001")
    var random = SeededGenerator(seed: 11)
    for _ in 0..<1_000 {
      let address = DeviceAddress(
        bits: random.next(), kind: random.next() & 1 == 0 ? .public : .random)
      #expect(PeerIdentifier.address(in: PeerIdentifier.uuid(of: address)) == address)
    }
  }

  @Test("other UUIDs hold no address")
  func foreign() throws {
    let foreign = try #require(UUID(uuidString: "6E400001-B5A3-F393-E0A9-E50E24DCCA9E"))
    #expect(PeerIdentifier.address(in: foreign) == nil)
    let badKind = try #require(UUID(uuidString: "414D4249-5400-8000-8002-C00000000001"))
    #expect(PeerIdentifier.address(in: badKind) == nil)
  }
}
