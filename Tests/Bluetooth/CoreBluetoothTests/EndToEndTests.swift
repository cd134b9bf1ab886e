import BluetoothHost
import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import SimulatedRadio
import Simulation
import Testing

@testable import AppCode

@Suite("Two managers on a virtual radio")
struct EndToEndTests {
  @Test("an iOS app's code and an iOS gadget's code meet, unmodified")
  func appCode() {
    let radio = VirtualRadio(seed: 7)
    let phone = radio.makeHost(name: "phone")
    let strapHost = radio.makeHost(name: "strap", at: Position(x: 2, y: 0))
    let app = BluetoothHost.$current.withValue(phone) {
      HeartRateMonitor(queue: DispatchQueue(label: "app"))
    }
    let strap = BluetoothHost.$current.withValue(strapHost) {
      HeartRateStrap(queue: DispatchQueue(label: "strap"))
    }
    radio.advance(by: .seconds(5))
    strap.measure(72)
    radio.advance(by: .seconds(1))
    #expect(
      app.log
        == ["on", "found Strap", "connected", "subscribed", "rate 60", "rate 72"])
    app.resetEnergy()
    radio.advance(by: .seconds(1))
    app.disconnect()
    radio.advance(by: .seconds(1))
    #expect(app.log.suffix(2) == ["reset", "disconnected"])
    #expect(strap.log == ["advertising", "subscribed", "reset"])
  }

  @Test("a device moves out of range and crashes, and noise drowns it, until it is mended")
  func movesAndBreaks() {
    let radio = VirtualRadio(seed: 7)
    let strap = radio.withWorld { $0.addHeartRateStrap(at: Position(x: 1, y: 0)) }
    let phone = radio.makeHost(name: "phone")
    let app = BluetoothHost.$current.withValue(phone) {
      HeartRateMonitor(queue: DispatchQueue(label: "app"))
    }
    radio.advance(by: .seconds(5))
    #expect(app.log.contains("subscribed"))

    // Out of range: the link times out. The app's connect is pending until the device is back.
    radio.withWorld { _ in strap.controller.position = Position(x: 1_000, y: 0) }
    radio.advance(by: .seconds(30))
    #expect(app.log.last == "lost")
    radio.withWorld { _ in strap.controller.position = Position(x: 1, y: 0) }
    radio.advance(by: .seconds(30))
    #expect(app.log.last?.hasPrefix("rate") == true)

    // The device's firmware crashes, and starts again after a minute.
    radio.withWorld { _ in strap.controller.crash(restartingAfter: .seconds(60)) }
    radio.advance(by: .seconds(30))
    #expect(app.log.last == "lost")

    // Noise for a minute, on all channels and everywhere, and then a wall of 20 dB.
    radio.withWorld { world in
      var noise = Jamming()
      noise.end = world.now + .seconds(60)
      world.radio.jamming = [noise]
      let (from, to) = (Position(x: 0.5, y: -5), Position(x: 0.5, y: 5))
      world.radio.walls = [Wall(from: from, to: to, attenuationDB: 20)]
    }
    radio.advance(by: .seconds(50))
    #expect(app.log.last == "lost")
    radio.advance(by: .seconds(60))
    #expect(app.log.last?.hasPrefix("rate") == true)
  }

  @Test("time waits for a manager's own callbacks, as for the radio's events")
  func waitsForRefusals() {
    let pair = Pair()
    for _ in 0..<100 {
      pair.gadget.record.clear()
      pair.manager.add(CBMutableService(type: CBUUID(string: "1800"), primary: true))
      pair.radio.advance(by: .microseconds(1))
      #expect(pair.gadget.record.lines == ["added 1800 uuidNotAllowed"])
    }
  }

  @Test("static, dynamic and long values are read, descriptors too")
  func reads() throws {
    let pair = Pair()
    #expect(pair.gadget.record.lines.suffix(2) == ["added 181A ok", "advertising ok"])
    let long = Data((0..<300).map { UInt8(truncatingIfNeeded: $0) })
    pair.gadget.answer = { manager, requests in
      requests[0].value = Data(long.dropFirst(requests[0].offset))
      manager.respond(to: requests[0], withResult: .success)
    }
    let peripheral = try pair.connect()
    #expect(peripheral.name == "gadget" || peripheral.name == "Gadget")
    let found = try pair.discover(peripheral)
    #expect(found.map(\.uuid.uuidString) == ["2A6E", "2A6F", "2A29"])
    peripheral.readValue(for: found[2])
    pair.wait(pair.phone.record, for: "value 2A29 65,109,98,105,116 ok")
    peripheral.readValue(for: found[0])
    #expect(pair.radio.advance(within: .seconds(10)) { found[0].value == long })
    peripheral.discoverDescriptors(for: found[2])
    pair.wait(pair.phone.record, for: "descriptors 2A29 ok")
    peripheral.readValue(for: try #require(found[2].descriptors?.first))
    pair.wait(pair.phone.record, for: "descriptor 2901 Maker ok")
  }

  @Test("a batch of writes arrives whole, and errors come back")
  func writes() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    let setPoint = try pair.discover(peripheral)[1]
    pair.gadget.answer = { $0.respond(to: $1[0], withResult: .success) }
    peripheral.writeValue(Data(repeating: 9, count: 500), for: setPoint, type: .withResponse)
    pair.wait(pair.phone.record, for: "wrote 2A6F ok")
    let written = pair.gadget.writes[0].reduce(Data()) { $0 + ($1.value ?? Data()) }
    #expect(written == Data(repeating: 9, count: 500))
    pair.gadget.answer = { $0.respond(to: $1[0], withResult: .invalidAttributeValueLength) }
    peripheral.writeValue(Data([1]), for: setPoint, type: .withResponse)
    pair.wait(pair.phone.record, for: "wrote 2A6F att invalidAttributeValueLength")
    pair.gadget.answer = nil
    pair.gadget.writes = []
    let many = 500
    var sent = 0
    while sent < many {
      while sent < many, peripheral.canSendWriteWithoutResponse {
        peripheral.writeValue(Data([UInt8(sent & 255)]), for: setPoint, type: .withoutResponse)
        sent += 1
      }
      pair.radio.advance(by: .milliseconds(50))
    }
    pair.radio.advance(by: .seconds(5))
    #expect(
      pair.gadget.writes.map { $0[0].value } == (0..<many).map { Data([UInt8($0 & 255)]) })
  }

  @Test("notifications and indications arrive in order, none is lost")
  func notifications() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    let found = try pair.discover(peripheral)
    peripheral.setNotifyValue(true, for: found[0])
    pair.wait(pair.phone.record, for: "notifying true ok")
    #expect(pair.reading.subscribedCentrals?.count == 1)
    #expect((pair.gadget.centrals.first?.maximumUpdateValueLength ?? 0) > 20)
    var sent = 0
    while sent < 300 {
      while sent < 300,
        pair.manager.updateValue(
          Data([UInt8(sent & 255)]), for: pair.reading, onSubscribedCentrals: nil)
      { sent += 1 }
      pair.radio.advance(by: .milliseconds(100))
    }
    pair.radio.advance(by: .seconds(5))
    #expect(pair.phone.record.lines == (0..<300).map { "value 2A6E \($0 & 255) ok" })
    pair.phone.record.clear()
    peripheral.setNotifyValue(true, for: found[1])
    pair.wait(pair.phone.record, for: "notifying true ok")
    #expect(
      pair.manager.updateValue(Data([7]), for: pair.setPoint, onSubscribedCentrals: nil))
    pair.wait(pair.phone.record, for: "value 2A6F 7 ok")
    peripheral.setNotifyValue(false, for: found[0])
    pair.wait(pair.phone.record, for: "notifying false ok")
    #expect(pair.gadget.record.lines.contains("unsubscribed 2A6E"))
  }

  @Test("a value that a write right after subscribing calls for is not missed")
  func answersToWrites() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    let found = try pair.discover(peripheral)
    let reading = pair.reading
    pair.gadget.answer = { manager, requests in
      manager.updateValue(Data([42]), for: reading, onSubscribedCentrals: nil)
      manager.respond(to: requests[0], withResult: .success)
    }
    peripheral.setNotifyValue(true, for: found[0])
    peripheral.writeValue(Data([1]), for: found[1], type: .withResponse)
    pair.wait(pair.phone.record, for: "value 2A6E 42 ok")
  }

  @Test("a gadget that changes its services invalidates them at the central")
  func modifiedServices() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    _ = try pair.discover(peripheral)
    // The host subscribes to Service Changed when the link is idle.
    pair.radio.advance(by: .seconds(10))
    pair.manager.remove(pair.service)
    pair.wait(pair.phone.record, for: "modified [\"181A\"]")
    #expect(peripheral.services?.isEmpty == true)
  }

  @Test("a channel carries bytes both ways")
  func channel() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    pair.manager.publishL2CAPChannel(withEncryption: false)
    pair.wait(pair.gadget.record, for: "published ok")
    peripheral.openL2CAPChannel(pair.gadget.psm)
    pair.wait(pair.phone.record, for: "channel ok")
    let here = try #require(pair.phone.channel)
    let there = try #require(pair.gadget.channel)
    for channel in [here, there] {
      channel.inputStream.open()
      channel.outputStream.open()
    }
    let message = (0..<20_000).map { UInt8(truncatingIfNeeded: $0) }
    #expect(here.outputStream.write(message, maxLength: message.count) == message.count)
    var received: [UInt8] = []
    let isWhole = pair.radio.advance(within: .seconds(120)) {
      while there.inputStream.hasBytesAvailable {
        var buffer = [UInt8](repeating: 0, count: 1_000)
        let count = there.inputStream.read(&buffer, maxLength: buffer.count)
        received += buffer.prefix(max(0, count))
      }
      return received.count == message.count
    }
    #expect(isWhole)
    #expect(received == message)
    #expect(there.outputStream.write([1, 2], maxLength: 2) == 2)
    #expect(pair.radio.advance(within: .seconds(5)) { here.inputStream.hasBytesAvailable })
    pair.phone.channel = nil
  }

  @Test("a gadget out of reach is a lost link, and it comes back by itself if asked")
  func linkLoss() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    pair.central.connect(
      peripheral, options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
    pair.wait(pair.phone.record, for: "connected")
    pair.radio.withController(of: pair.gadgetHost) { $0.position = Position(x: 100_000, y: 0) }
    pair.wait(pair.phone.record, for: "disconnected connectionTimeout")
    #expect(peripheral.state == .connecting)
    pair.radio.withController(of: pair.gadgetHost) { $0.position = Position(x: 2, y: 0) }
    pair.manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [pair.service.uuid]])
    pair.wait(pair.phone.record, for: "connected")
  }
}
