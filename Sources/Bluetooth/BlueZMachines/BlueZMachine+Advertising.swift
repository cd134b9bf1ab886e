import BluetoothInterface
import BluetoothWire
import Essentials

// Advertising: one advertisement for each client, which bluetoothd reads from this program's objects.

extension BlueZMachine {
  static let advertisementRoot = "/org/ambit/advertisement/"

  mutating func startAdvertising(
    _ options: AdvertisingOptions, _ id: BlueZSessionID, _ token: RequestToken, now: Instant,
    into actions: inout [Action]
  ) {
    guard state == .poweredOn else {
      return complete(id, token, .failure(.radioNotReady), into: &actions)
    }
    do throws(HostError) {
      let properties = try Advertisement.properties(options)
      stopAdvertising(of: id, now: now, into: &actions)
      lastObject += 1
      advertisements[id] = Advertisement(
        path: Self.advertisementRoot + String(lastObject), properties: properties)
      registerAdvertisement(of: id, token, now: now, into: &actions)
    } catch {
      complete(id, token, .failure(error), into: &actions)
    }
  }

  mutating func registerAdvertisement(
    of id: BlueZSessionID, _ token: RequestToken?, now: Instant, into actions: inout [Action]
  ) {
    guard let adapter, let path = advertisements[id]?.path else { return }
    advertisements[id]?.phase = .registering(token)
    advertisements[id]?.adapter = adapter
    advertisements[id]?.refusal?.retryAt = nil
    send(
      bluez(
        adapter, BusName.advertisingManager, "RegisterAdvertisement",
        [.path(path), .properties([:])]),
      .advertise(id, path: path), deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  mutating func stopAdvertising(
    of id: BlueZSessionID, now: Instant, into actions: inout [Action]
  ) {
    guard let advertisement = advertisements.removeValue(forKey: id) else { return }
    if case .registering(let token?) = advertisement.phase {
      complete(id, token, .failure(.cancelled), into: &actions)
    }
    unregisterAdvertisement(advertisement, now: now, into: &actions)
  }

  private mutating func unregisterAdvertisement(
    _ advertisement: Advertisement, now: Instant, into actions: inout [Action]
  ) {
    guard advertisement.phase != .waiting, let adapter = advertisement.adapter,
      adapters[adapter] != nil
    else { return }
    send(
      bluez(
        adapter, BusName.advertisingManager, "UnregisterAdvertisement", [.path(advertisement.path)]),
      .release, deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  mutating func advertisementReplied(
    _ result: Result<[BusValue], BusError>, _ id: BlueZSessionID, _ path: String, now: Instant,
    into actions: inout [Action]
  ) {
    guard let advertisement = advertisements[id], advertisement.path == path,
      case .registering(let token) = advertisement.phase
    else { return }
    switch result {
    case .success:
      advertisements[id]?.phase = .registered
      advertisements[id]?.refusal = nil
      if let token { complete(id, token, .success(.done), into: &actions) }
    case .failure(let error):
      if error.name == BlueZErrorName.noReply {
        unregisterAdvertisement(advertisement, now: now, into: &actions)
      }
      if let token {
        advertisements[id] = nil
        return complete(id, token, .failure(error.advertisingError), into: &actions)
      }
      // The client advertises, as far as it knows.
      let refusal = Refusal(
        count: (advertisement.refusal?.count ?? 0) + 1, error: error.loggedText, now: now)
      advertisements[id]?.phase = .waiting
      advertisements[id]?.refusal = refusal
      registrationRefused(refusal, of: "An advertisement", id, now: now, into: &actions)
    }
  }

  /// The radio is on: advertisements of before that bluetoothd or this adapter doesn't have are registered.
  mutating func resumeAdvertising(now: Instant, into actions: inout [Action]) {
    for id in advertisements.keys.sorted() {
      guard let advertisement = advertisements[id],
        advertisement.phase == .waiting || advertisement.adapter != adapter
      else { continue }
      registerAdvertisement(of: id, nil, now: now, into: &actions)
    }
  }

  /// bluetoothd is gone, and its advertisements with it.
  mutating func loseAdvertisements(into actions: inout [Action]) {
    for id in advertisements.keys.sorted() {
      if case .registering(let token?) = advertisements[id]?.phase {
        advertisements[id] = nil
        complete(id, token, .failure(.radioNotReady), into: &actions)
      } else {
        advertisements[id]?.phase = .waiting
        advertisements[id]?.refusal = nil
      }
    }
  }

  /// bluetoothd calls a method of an advertisement.
  mutating func advertisementCalled(
    _ id: IncomingCallID, _ call: BusMethodCall, now: Instant, into actions: inout [Action]
  ) {
    guard let client = advertisements.first(where: { $0.value.path == call.path })?.key,
      let properties = advertisements[client]?.properties
    else { return actions.append(.answer(id, .failure(Self.unknownObject))) }
    switch (call.interface, call.member) {
    case (BusName.objectManager, "GetManagedObjects"):
      let objects = [call.path: [BusName.advertisement: properties]]
      actions.append(.answer(id, .success([.objects(objects)])))
    case (BusName.properties, "GetAll"):
      actions.append(.answer(id, .success([.properties(properties)])))
    case (BusName.advertisement, "Release"):
      // The adapter ends, or bluetoothd advertises nothing any more with one that goes on.
      if advertisements[client]?.phase == .registered {
        advertisements[client]?.phase = .waiting
        advertisements[client]?.refusal = Refusal(
          count: 0, error: "bluetoothd has released it", now: now)
      }
      actions.append(.answer(id, .success([])))
    default: actions.append(.answer(id, .failure(Self.unknownMethod)))
    }
  }

  static let unknownObject = BusError(
    BlueZErrorName.unknownObject, "This program has no such object.")
  static let unknownMethod = BusError(
    BlueZErrorName.unknownMethod, "This program has no such method.")
}

extension BusError {
  /// The error of a refused advertisement.
  fileprivate var advertisingError: HostError {
    switch name {
    case "org.bluez.Error.NotPermitted": .limitReached("advertisements of the adapter")
    case "org.bluez.Error.InvalidLength":
      .invalidArgument("The advertising data is longer than the adapter advertises.")
    case "org.bluez.Error.Failed":
      .invalidArgument("bluetoothd can't advertise this data; it may be too long: \(message).")
    case BlueZErrorName.noReply, BlueZErrorName.notReady: .radioNotReady
    default: .transport("bluetoothd reports: \(message) (\(name)).")
    }
  }
}
