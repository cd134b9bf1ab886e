import BonjourHost
import DNSWire
import DiscoveryMachines
import Foundation
import Testing

@testable import Bonjour

@Suite("Publishing with NetService", .timeLimit(.minutes(5)))
struct PublishingTests {
  private let discovery = ScriptedDiscovery()
  private let thread = RunLoopThread()
  private let recorder = ServiceRecorder()

  /// A service on the run loop of `thread`.
  private func service(
    name: String = "Desk lamp", type: String = "_lamp._tcp.", port: Int32 = 8_080
  ) async -> NetService {
    await thread.run { [discovery, recorder] in
      DiscoveryContext.$override.withValue(discovery) {
        let service = NetService(domain: "", type: type, name: name, port: port)
        service.delegate = recorder
        return service
      }
    }
  }

  @Test("the delegate is called when publishing begins, then with the name")
  func publishes() async throws {
    let service = await service()
    service.publish()
    #expect(await recorder.events.next() == "will publish Desk lamp")
    let published = try #require(discovery.published.first)
    #expect(published.service.name == (try .lamp()))
    #expect(published.service.port == 8_080)
    #expect(published.service.conflictPolicy == .rename)
    discovery.notify(.registered(try ServiceName.lamp().name))
    #expect(await recorder.events.next() == "published Desk lamp in local.")
    #expect(service.type == "_lamp._tcp.")
    await thread.end()
  }

  @Test("a renamed service has its new name when the delegate is called, also a second time")
  func renamed() async throws {
    let service = await service()
    service.publish()
    discovery.notify(.registered(try ServiceName.lamp("Desk lamp (2)").name))
    let events = await recorder.events.next(2)
    #expect(events.last == "published Desk lamp (2) in local.")
    discovery.notify(.registered(try ServiceName.lamp("Desk lamp (3)").name))
    #expect(await recorder.events.next() == "published Desk lamp (3) in local.")
    #expect(service.name == "Desk lamp (3)")
    await thread.end()
  }

  @Test("a service that wants no other name is not published where its own is taken")
  func refused() async throws {
    let service = await service()
    service.publish(options: .noAutoRename)
    #expect(discovery.published.first?.service.conflictPolicy == .refuse)
    discovery.notify(.refused(try ServiceName.lamp().name))
    #expect(await recorder.events.next(2).last == "not published -72001 of 10")
    // It is free to try again.
    service.publish()
    #expect(await recorder.events.next() == "will publish Desk lamp")
    await thread.end()
  }

  @Test("publishing or resolving a second time meanwhile fails as already in progress")
  func busy() async throws {
    let service = await service()
    service.publish()
    service.publish()
    service.resolve(withTimeout: 1)
    #expect(
      await recorder.events.next(3) == [
        "will publish Desk lamp", "not published -72003 of 10", "not resolved -72003 of 10",
      ])
    #expect(discovery.published.count == 1)
    await thread.end()
  }

  @Test(
    "names, types and ports that can't be are bad arguments",
    arguments: [
      (String(repeating: "n", count: 64), "_lamp._tcp.", 80), ("Lamp", "lamp", 80),
      ("Lamp", "_lamp._sctp.", 80), ("Lamp", "_a._sctp.", 80),
      ("Lamp", "_lamp._tcp.", -1), ("Lamp", "_lamp._tcp.", 65_536),
      ("La\u{7}mp", "_lamp._tcp.", 80),
    ] as [(String, String, Int32)])
  func badArguments(_ name: String, _ type: String, _ port: Int32) async {
    let service = await service(name: name, type: type, port: port)
    service.publish()
    #expect(await recorder.events.next() == "not published -72004 of 10")
    #expect(discovery.published.isEmpty)
    await thread.end()
  }

  @Test("a service without a name takes the host's, and subtypes come after commas")
  func hostNameAndSubtypes() async throws {
    let service = await service(name: "", type: "_lamp._tcp,_led,_dim")
    service.publish()
    let registration = try #require(discovery.published.first?.service)
    #expect(registration.name.instanceText == BonjourConfiguration().hostName)
    #expect(
      registration.subtypeNames.map(\.description) == [
        "_led._sub._lamp._tcp.local.", "_dim._sub._lamp._tcp.local.",
      ])
    await thread.end()
  }

  @Test(
    "stopping unregisters the service and is reported once; stopping an idle service is not")
  func stops() async throws {
    let service = await service()
    await thread.run {
      service.publish()
      service.stop()
      service.stop()
    }
    #expect(await recorder.events.next() == "stopped")
    #expect(discovery.published.first?.isLive == false)
    // Pending delegate calls of the first publication are dropped.
    service.publish()
    #expect(await recorder.events.next() == "will publish Desk lamp")
    await thread.end()
  }

  @Test("a service may be released as soon as it was stopped: its delegate is called")
  func stopsAndGoes() async throws {
    final class App: @unchecked Sendable {
      // Unchecked: used on one run loop only.
      var service: NetService?
      weak var old: NetService?
    }
    let app = App()
    await thread.run { [discovery, recorder] in
      DiscoveryContext.$override.withValue(discovery) {
        app.service = NetService(domain: "", type: "_lamp._tcp.", name: "Desk lamp", port: 80)
      }
      app.old = app.service
      app.service?.delegate = recorder
      app.service?.publish()
      app.service?.stop()
      app.service = nil
    }
    #expect(await recorder.events.next() == "stopped")
    await thread.run {}
    #expect(app.old == nil)
    await thread.end()
  }

  @Test("a service that is released unregisters, and holds neither itself nor its delegate")
  func letGo() async throws {
    weak var service: NetService?
    weak var delegate: ServiceRecorder?
    do {
      let held = await self.service()
      let recorder = ServiceRecorder()
      held.delegate = recorder
      held.publish(options: .listenForConnections)
      held.startMonitoring()
      #expect(await recorder.events.next() == "will publish Desk lamp")
      (service, delegate) = (held, recorder)
    }
    // A delegate call under way may keep it until it returns.
    await thread.run {}
    #expect(service == nil && delegate == nil)
    #expect(discovery.published.first?.isLive == false)
    #expect(discovery.requests.isEmpty)
    await thread.end()
  }

  @Test("a text that is set is published, and one that is no text record is not")
  func text() async throws {
    let service = await service()
    #expect(service.txtRecordData() == nil)
    #expect(service.setTXTRecord(Data([3, 0x61, 0x3D, 0x62])))
    service.publish()
    #expect(discovery.published.first?.service.text["a"] == "b")
    #expect(service.setTXTRecord(Data([3, 0x61, 0x3D, 0x63])))
    #expect(service.setTXTRecord(nil))
    #expect(!service.setTXTRecord(Data([9, 0x61])))
    #expect(!service.setTXTRecord(Data(repeating: 0, count: 8_193)), "no message could take it")
    let texts = try #require(discovery.published.first?.texts)
    #expect(texts.map { $0["a"] } == ["c", nil])
    await thread.end()
  }

  @Test("a text that is set while publishing begins is published")
  func textMeanwhile() async throws {
    let service = await service()
    discovery.onAnnounce { [weak service] in
      _ = service?.setTXTRecord(Data([3, 0x61, 0x3D, 0x62]))
    }
    service.publish()
    let published = try #require(discovery.published.first)
    #expect(published.service.text["a"] == nil)
    #expect(published.texts.map { $0["a"] } == ["b"])
    await thread.end()
  }

  @Test("the last of many texts that threads set at the same time is the one published")
  func textsAtOnce() async throws {
    let service = await service()
    service.publish()
    await withTaskGroup(of: Void.self) { group in
      for value in UInt8(0x61)...0x7A {
        group.addTask { _ = service.setTXTRecord(Data([3, 0x61, 0x3D, value])) }
      }
    }
    let last = try #require(discovery.published.first?.texts.last)
    #expect(service.txtRecordData() == Data(last.wireBytes))
    await thread.end()
  }
}
