import CoreBluetooth
import Testing

// Every type, member and signature of Apple's public interface (SDK 27), named once. A member that
// is missing, misspelt or of another type does not compile; the few checks at run time are for what
// the compiler cannot see. Raw values are in `ValueTests`, delegates in `DelegateSurfaceTests`,
// behaviour in `BehaviourTests`. Not `@testable`: this is what an app sees.

/// Takes what must have exactly this type.
private func expect<Value>(_ type: Value.Type, _ value: Value) {}

@Suite("Core Bluetooth's public interface")
struct APISurfaceTests {
  @Test("classes descend from what Apple's descend from")
  func hierarchy() {
    let classes: [(AnyClass, AnyClass)] = [
      (CBManager.self, NSObject.self), (CBCentralManager.self, CBManager.self),
      (CBPeripheralManager.self, CBManager.self), (CBPeer.self, NSObject.self),
      (CBPeripheral.self, CBPeer.self), (CBCentral.self, CBPeer.self),
      (CBAttribute.self, NSObject.self), (CBService.self, CBAttribute.self),
      (CBMutableService.self, CBService.self), (CBCharacteristic.self, CBAttribute.self),
      (CBMutableCharacteristic.self, CBCharacteristic.self), (CBDescriptor.self, CBAttribute.self),
      (CBMutableDescriptor.self, CBDescriptor.self), (CBATTRequest.self, NSObject.self),
      (CBL2CAPChannel.self, NSObject.self), (CBUUID.self, NSObject.self),
      (CBChannelSoundingSessionConfiguration.self, NSObject.self),
      (CBChannelSoundingProcedureResults.self, NSObject.self),
    ]
    #expect(classes.count == 18)
    for pair in classes {
      let child: AnyClass = pair.0
      let parent: AnyClass = pair.1
      var ancestor: AnyClass? = _getSuperclass(child)
      // Between `NSObject` and a class of ours there is nothing.
      if parent != NSObject.self { #expect(ancestor == parent, "\(child)") }
      while let next = ancestor, next != NSObject.self { ancestor = _getSuperclass(next) }
      #expect(ancestor == NSObject.self, "\(child)")
    }
    expect((any NSCopying).self, CBUUID(string: "180D"))
    expect(((CBPeer) -> any NSCopying).self, { $0 })
    expect(CBL2CAPPSM.self, UInt16(0x80))
  }

  @Test("CBManager and CBCentralManager have Apple's members")
  func centralManager() {
    expect(KeyPath<CBManager, CBManagerState>.self, \.state)
    expect(CBManagerAuthorization.self, CBManager.authorization)
    expect(CBManagerAuthorization.self, CBCentralManager.authorization)

    typealias Delegate = (any CBCentralManagerDelegate)?
    expect((() -> CBCentralManager).self, CBCentralManager.init)
    expect(
      ((Delegate, dispatch_queue_t?) -> CBCentralManager).self,
      CBCentralManager.init(delegate:queue:))
    expect(
      ((Delegate, dispatch_queue_t?, [String: Any]?) -> CBCentralManager).self,
      CBCentralManager.init(delegate:queue:options:))
    expect(ReferenceWritableKeyPath<CBCentralManager, Delegate>.self, \.delegate)
    expect(KeyPath<CBCentralManager, Bool>.self, \.isScanning)
    expect(((CBCentralManager.Feature) -> Bool).self, CBCentralManager.supports(_:))
    expect(
      ((CBCentralManager) -> ([UUID]) -> [CBPeripheral]).self,
      CBCentralManager.retrievePeripherals(withIdentifiers:))
    expect(
      ((CBCentralManager) -> ([CBUUID]) -> [CBPeripheral]).self,
      CBCentralManager.retrieveConnectedPeripherals(withServices:))
    expect(
      ((CBCentralManager) -> ([CBUUID]?, [String: Any]?) -> Void).self,
      CBCentralManager.scanForPeripherals(withServices:options:))
    expect(((CBCentralManager) -> () -> Void).self, CBCentralManager.stopScan)
    expect(
      ((CBCentralManager) -> (CBPeripheral, [String: Any]?) -> Void).self,
      CBCentralManager.connect(_:options:))
    expect(
      ((CBCentralManager) -> (CBPeripheral) -> Void).self,
      CBCentralManager.cancelPeripheralConnection(_:))
    expect(
      ((CBCentralManager) -> ([CBConnectionEventMatchingOption: Any]?) -> Void).self,
      CBCentralManager.registerForConnectionEvents(options:))
    #expect(CBCentralManager.supports(.extendedScanAndConnect))
    #expect(!CBCentralManager.supports([.extendedScanAndConnect, .channelSounding]))
  }

  /// Arguments that Apple's declarations let a caller leave out. Compiled, never called.
  private func defaults(_ manager: CBCentralManager, _ peripheral: CBPeripheral) {
    manager.scanForPeripherals(withServices: nil)
    manager.connect(peripheral)
    manager.registerForConnectionEvents()
    _ = CBCentralManager(delegate: nil, queue: nil)
    _ = CBPeripheralManager(delegate: nil, queue: nil)
    _ = CBError(.unknown)
    _ = CBATTError(.success)
  }

  @Test("CBPeer and CBPeripheral have Apple's members")
  func peripheral() {
    typealias Peripheral = CBPeripheral
    expect(KeyPath<CBPeer, UUID>.self, \.identifier)
    expect(
      ReferenceWritableKeyPath<Peripheral, (any CBPeripheralDelegate)?>.self, \.delegate)
    expect(KeyPath<Peripheral, String?>.self, \.name)
    expect(KeyPath<Peripheral, CBPeripheralState>.self, \.state)
    expect(KeyPath<Peripheral, [CBService]?>.self, \.services)
    expect(KeyPath<Peripheral, Bool>.self, \.canSendWriteWithoutResponse)
    expect(KeyPath<Peripheral, Bool>.self, \.ancsAuthorized)
    expect(((Peripheral) -> () -> Void).self, Peripheral.readRSSI)
    expect(((Peripheral) -> ([CBUUID]?) -> Void).self, Peripheral.discoverServices(_:))
    expect(
      ((Peripheral) -> ([CBUUID]?, CBService) -> Void).self,
      Peripheral.discoverIncludedServices(_:for:))
    expect(
      ((Peripheral) -> ([CBUUID]?, CBService) -> Void).self,
      Peripheral.discoverCharacteristics(_:for:))
    expect(
      ((Peripheral) -> (CBCharacteristic) -> Void).self, Peripheral.discoverDescriptors(for:))
    expect(((Peripheral) -> (CBCharacteristic) -> Void).self, Peripheral.readValue(for:))
    expect(((Peripheral) -> (CBDescriptor) -> Void).self, Peripheral.readValue(for:))
    expect(
      ((Peripheral) -> (Data, CBCharacteristic, CBCharacteristicWriteType) -> Void).self,
      Peripheral.writeValue(_:for:type:))
    expect(((Peripheral) -> (Data, CBDescriptor) -> Void).self, Peripheral.writeValue(_:for:))
    expect(
      ((Peripheral) -> (CBCharacteristicWriteType) -> Int).self,
      Peripheral.maximumWriteValueLength(for:))
    expect(
      ((Peripheral) -> (Bool, CBCharacteristic) -> Void).self, Peripheral.setNotifyValue(_:for:))
    expect(((Peripheral) -> (CBL2CAPPSM) -> Void).self, Peripheral.openL2CAPChannel(_:))
    expect(
      ((Peripheral) -> (CBChannelSoundingSessionConfiguration) -> Void).self,
      Peripheral.startChannelSoundingSession(_:))
    expect(((Peripheral) -> () -> Void).self, Peripheral.cancelChannelSoundingSession)
  }

  @Test("CBPeripheralManager has Apple's members")
  func peripheralManager() {
    typealias Manager = CBPeripheralManager
    typealias Delegate = (any CBPeripheralManagerDelegate)?
    expect((() -> Manager).self, Manager.init)
    expect(((Delegate, dispatch_queue_t?) -> Manager).self, Manager.init(delegate:queue:))
    expect(
      ((Delegate, dispatch_queue_t?, [String: Any]?) -> Manager).self,
      Manager.init(delegate:queue:options:))
    expect(ReferenceWritableKeyPath<Manager, Delegate>.self, \.delegate)
    expect(KeyPath<Manager, Bool>.self, \.isAdvertising)
    expect(((Manager) -> ([String: Any]?) -> Void).self, Manager.startAdvertising(_:))
    expect(((Manager) -> () -> Void).self, Manager.stopAdvertising)
    expect(
      ((Manager) -> (CBPeripheralManagerConnectionLatency, CBCentral) -> Void).self,
      Manager.setDesiredConnectionLatency(_:for:))
    expect(((Manager) -> (CBMutableService) -> Void).self, Manager.add(_:))
    expect(((Manager) -> (CBMutableService) -> Void).self, Manager.remove(_:))
    expect(((Manager) -> () -> Void).self, Manager.removeAllServices)
    expect(
      ((Manager) -> (CBATTRequest, CBATTError.Code) -> Void).self,
      Manager.respond(to:withResult:))
    expect(
      ((Manager) -> (Data, CBMutableCharacteristic, [CBCentral]?) -> Bool).self,
      Manager.updateValue(_:for:onSubscribedCentrals:))
    expect(((Manager) -> (Bool) -> Void).self, Manager.publishL2CAPChannel(withEncryption:))
    expect(((Manager) -> (CBL2CAPPSM) -> Void).self, Manager.unpublishL2CAPChannel(_:))
  }

  @Test("attributes, requests and centrals have Apple's members")
  func attributes() {
    expect(KeyPath<CBAttribute, CBUUID>.self, \.uuid)
    expect(KeyPath<CBService, CBPeripheral?>.self, \.peripheral)
    expect(KeyPath<CBService, Bool>.self, \.isPrimary)
    expect(KeyPath<CBService, [CBService]?>.self, \.includedServices)
    expect(KeyPath<CBService, [CBCharacteristic]?>.self, \.characteristics)
    expect(((CBUUID, Bool) -> CBMutableService).self, CBMutableService.init(type:primary:))
    expect(ReferenceWritableKeyPath<CBMutableService, [CBService]?>.self, \.includedServices)
    expect(ReferenceWritableKeyPath<CBMutableService, [CBCharacteristic]?>.self, \.characteristics)

    expect(KeyPath<CBCharacteristic, CBService?>.self, \.service)
    expect(KeyPath<CBCharacteristic, CBCharacteristicProperties>.self, \.properties)
    expect(KeyPath<CBCharacteristic, Data?>.self, \.value)
    expect(KeyPath<CBCharacteristic, [CBDescriptor]?>.self, \.descriptors)
    expect(KeyPath<CBCharacteristic, Bool>.self, \.isNotifying)
    typealias Mutable = CBMutableCharacteristic
    expect(
      ((CBUUID, CBCharacteristicProperties, Data?, CBAttributePermissions) -> Mutable).self,
      Mutable.init(type:properties:value:permissions:))
    expect(ReferenceWritableKeyPath<Mutable, CBCharacteristicProperties>.self, \.properties)
    expect(ReferenceWritableKeyPath<Mutable, Data?>.self, \.value)
    expect(ReferenceWritableKeyPath<Mutable, [CBDescriptor]?>.self, \.descriptors)
    expect(ReferenceWritableKeyPath<Mutable, CBAttributePermissions>.self, \.permissions)
    expect(KeyPath<Mutable, [CBCentral]?>.self, \.subscribedCentrals)

    expect(KeyPath<CBDescriptor, CBCharacteristic?>.self, \.characteristic)
    expect(KeyPath<CBDescriptor, Any?>.self, \.value)
    expect(((CBUUID, Any?) -> CBMutableDescriptor).self, CBMutableDescriptor.init(type:value:))

    expect(KeyPath<CBATTRequest, CBCentral>.self, \.central)
    expect(KeyPath<CBATTRequest, CBCharacteristic>.self, \.characteristic)
    expect(KeyPath<CBATTRequest, Int>.self, \.offset)
    expect(ReferenceWritableKeyPath<CBATTRequest, Data?>.self, \.value)
    expect(KeyPath<CBCentral, Int>.self, \.maximumUpdateValueLength)
  }

  @Test("UUIDs, channels and channel sounding have Apple's members")
  func values() {
    expect(((String) -> CBUUID).self, CBUUID.init(string:))
    expect(((Data) -> CBUUID).self, CBUUID.init(data:))
    expect(((UUID) -> CBUUID).self, CBUUID.init(nsuuid:))
    expect(KeyPath<CBUUID, Data>.self, \.data)
    expect(KeyPath<CBUUID, String>.self, \.uuidString)

    // Implicitly unwrapped, as Apple's headers leave them.
    expect(((CBL2CAPChannel) -> CBPeer).self, { $0.peer })
    expect(((CBL2CAPChannel) -> InputStream).self, { $0.inputStream })
    expect(((CBL2CAPChannel) -> OutputStream).self, { $0.outputStream })
    expect(KeyPath<CBL2CAPChannel, CBL2CAPPSM>.self, \.psm)

    typealias Configuration = CBChannelSoundingSessionConfiguration
    expect(((Configuration.Role) -> Configuration).self, Configuration.init(role:))
    #expect(Configuration(role: .initiator).role == .initiator)
    #expect(Configuration.Role.initiator.rawValue == 0)
    expect(KeyPath<CBChannelSoundingProcedureResults, Double>.self, \.distance)
  }

  @Test("errors have Apple's initializers, codes, domains and accessors")
  func errors() {
    expect(((CBError.Code, [String: Any]) -> CBError).self, CBError.init(_:userInfo:))
    expect(((CBATTError.Code, [String: Any]) -> CBATTError).self, CBATTError.init(_:userInfo:))
    expect(KeyPath<CBError, CBError.Code>.self, \.code)
    expect(KeyPath<CBATTError, CBATTError.Code>.self, \.code)
    expect(KeyPath<CBError, [String: Any]>.self, \.userInfo)
    expect(KeyPath<CBATTError, [String: Any]>.self, \.userInfo)
    expect(KeyPath<CBError, Int>.self, \.errorCode)
    expect(KeyPath<CBATTError, Int>.self, \.errorCode)
    expect(KeyPath<CBError, [String: Any]>.self, \.errorUserInfo)
    expect(KeyPath<CBATTError, [String: Any]>.self, \.errorUserInfo)
    expect((any CustomNSError).self, CBError(.unknown))
    expect((any CustomNSError).self, CBATTError(.success))
    #expect(Set([CBError(.unknown), CBError(.unknown), CBError(.notConnected)]).count == 2)
    #expect(Set([CBATTError(.success), CBATTError(.success)]).count == 1)
    #expect(CBError.errorDomain == CBErrorDomain)
    #expect(CBATTError.errorDomain == CBATTErrorDomain)
    #expect(CBErrorDomain == "CBErrorDomain")
    #expect(CBATTErrorDomain == "CBATTErrorDomain")

    // The shorthands `CBError.connectionTimeout`, in the order of their numbers.
    let codes: [CBError.Code] = [
      CBError.unknown, CBError.invalidParameters, CBError.invalidHandle, CBError.notConnected,
      CBError.outOfSpace, CBError.operationCancelled, CBError.connectionTimeout,
      CBError.peripheralDisconnected, CBError.uuidNotAllowed, CBError.alreadyAdvertising,
      CBError.connectionFailed, CBError.connectionLimitReached, CBError.unknownDevice,
      CBError.operationNotSupported, CBError.peerRemovedPairingInformation,
      CBError.encryptionTimedOut, CBError.tooManyLEPairedDevices,
      CBError.leGattExceededBackgroundNotificationLimit,
      CBError.leGattNearBackgroundNotificationLimit, CBError.channelSoundingConfigurationFailed,
      CBError.channelSoundingProcedureFailed,
    ]
    #expect(codes.map(\.rawValue) == Array(0...20))
    let attCodes: [CBATTError.Code] = [
      CBATTError.success, CBATTError.invalidHandle, CBATTError.readNotPermitted,
      CBATTError.writeNotPermitted, CBATTError.invalidPdu, CBATTError.insufficientAuthentication,
      CBATTError.requestNotSupported, CBATTError.invalidOffset,
      CBATTError.insufficientAuthorization, CBATTError.prepareQueueFull,
      CBATTError.attributeNotFound, CBATTError.attributeNotLong,
      CBATTError.insufficientEncryptionKeySize, CBATTError.invalidAttributeValueLength,
      CBATTError.unlikelyError, CBATTError.insufficientEncryption,
      CBATTError.unsupportedGroupType, CBATTError.insufficientResources,
    ]
    #expect(attCodes.map(\.rawValue) == Array(0...17))
  }

  @Test("members that Apple deprecated exist, with a warning")
  func deprecated() {
    let members: any DeprecatedMembers = Deprecated()
    members.check()
  }
}

/// Avoids the warnings of deprecated members: a deprecated method may use them, and a call of it
/// through a protocol doesn't warn.
private protocol DeprecatedMembers { func check() }

private struct Deprecated: DeprecatedMembers {
  @available(*, deprecated)
  func check() {
    expect(KeyPath<CBManager, CBManagerAuthorization>.self, \.authorization)
    expect(KeyPath<CBPeripheral, NSNumber?>.self, \.rssi)
    expect(KeyPath<CBCharacteristic, Bool>.self, \.isBroadcasted)
    expect(((CFUUID) -> CBUUID).self, CBUUID.init(cfuuid:))
    expect(
      (() -> CBPeripheralManagerAuthorizationStatus).self,
      CBPeripheralManager.authorizationStatus)
    #expect(CBPeripheralManager.authorizationStatus() == .authorized)
    let statuses: [CBPeripheralManagerAuthorizationStatus] = [
      .notDetermined, .restricted, .denied, .authorized,
    ]
    #expect(statuses.map(\.rawValue) == Array(0...3))
    let central: [CBCentralManagerState] = [
      .unknown, .resetting, .unsupported, .unauthorized, .poweredOff, .poweredOn,
    ]
    #expect(central.map(\.rawValue) == Array(0...5))
    let peripheral: [CBPeripheralManagerState] = [
      .unknown, .resetting, .unsupported, .unauthorized, .poweredOff, .poweredOn,
    ]
    #expect(peripheral.map(\.rawValue) == Array(0...5))
    #expect(CBError.unkownDevice.rawValue == 12)
    #expect(CBError.Code.unkownDevice == .unknownDevice)
  }
}
