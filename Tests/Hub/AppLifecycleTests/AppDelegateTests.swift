import AppLifecycle
import AppMachines
import AppSessions
import BluetoothHost
import CoreBluetooth
import CoreLocation
import Essentials
import InfoPlists
import SimulatedRadio
import Simulation
import Testing

@testable import AppDelegates

/// The delegates of Examples/AppDelegates, whose code names nothing of Ambit but the module that it imports.
extension AppLifecycleTests {
  @Suite(.serialized) struct AppDelegates {
    /// The app's managers are made in `didFinishLaunching`, and use the host of the test.
    private final class Lock: LockAppDelegate {
      let host: BluetoothHost
      init(_ host: BluetoothHost) { self.host = host }
      override func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
      ) -> Bool {
        BluetoothHost.$current.withValue(host) {
          super.application(application, didFinishLaunchingWithOptions: launchOptions)
        }
      }
    }

    /// A door lock, at a distance.
    private final class Door: NSObject, CBPeripheralManagerDelegate {
      private var manager: CBPeripheralManager?
      private(set) var unlockCount = 0

      func open(on host: BluetoothHost) {
        manager = BluetoothHost.$current.withValue(host) {
          CBPeripheralManager(delegate: self, queue: DispatchQueue(label: "door"))
        }
      }
      func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        let service = CBMutableService(type: LockManager.service, primary: true)
        service.characteristics = [
          CBMutableCharacteristic(
            type: LockManager.control, properties: .write, value: nil, permissions: .writeable)
        ]
        peripheral.add(service)
        peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [LockManager.service]])
      }
      func peripheralManager(
        _ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]
      ) {
        unlockCount += 1
        if let first = requests.first { peripheral.respond(to: first, withResult: .success) }
      }
    }

    private func lockLog() async -> [String] {
      await MainActor.run {
        (UIApplication.shared.delegate as? LockAppDelegate)?.lockManager.log ?? []
      }
    }

    @Test func `The app of a lock is launched, and unlocks the door with a background task`() async
    {
      let radio = VirtualRadio(seed: 7)
      let host = radio.makeHost(name: "phone")
      let door = Door()
      door.open(on: radio.makeHost(name: "door", at: Position(x: 2, y: 0)))
      var plist = InfoPlist()
      plist.backgroundModes = ["bluetooth-central"]
      let phone = TestPhone(plist) { Lock(host) }
      phone.person(.opened)
      await phone.settle()
      for _ in 0..<20 {
        radio.advance(by: .milliseconds(500))
        await phone.settle()
      }
      #expect(await lockLog() == ["active", "unlocked in the foreground"])
      #expect(door.unlockCount == 1)
      phone.person(.sentToBackground)
      await phone.settle()
      #expect(await lockLog().last == "background")
      // The background task was ended.
      #expect(phone.machineState == .suspended)
      await phone.end()
    }

    @Test func `The app of a lock is launched for its manager with its identifier`() async {
      let radio = VirtualRadio(seed: 8)
      let host = radio.makeHost(name: "phone")
      var plist = InfoPlist()
      plist.backgroundModes = ["bluetooth-central"]
      let phone = TestPhone(plist) { Lock(host) }
      let receiver = AppReceiver.central(LockManager.restoreIdentifier)
      phone.person(.opened)
      await phone.settle()
      phone.session?.open(receiver) { _, done in done() }
      phone.send(.wants(TestPhone.id, receiver, .links))
      phone.person(.sentToBackground)
      await phone.settle()
      phone.send(.memoryPressure(.critical))
      await phone.settle()
      phone.arrive(AppEvent(.connected(AppPeer(rawValue: 1)), for: receiver))
      await phone.settle()
      #expect(await lockLog() == ["launched for Bluetooth"])
      await phone.end()
    }

    private func shopLog() async -> [String] {
      await MainActor.run { (UIApplication.shared.delegate as? ShopAppDelegate)?.log ?? [] }
    }

    @Test func `The app of a shop notifies in the background, and is opened by the notification`()
      async throws
    {
      let radio = VirtualRadio(seed: 9)
      let host = radio.makeHost(name: "phone")
      let phone = TestPhone {
        BluetoothHost.$current.withValue(host) {
          LocationPolicy.$override.withValue(.always) { ShopAppDelegate() }
        }
      }
      phone.person(.opened)
      await phone.settle()
      phone.person(.sentToBackground)
      await phone.settle()
      await MainActor.run {
        let delegate = UIApplication.shared.delegate as? ShopAppDelegate
        let manager = BluetoothHost.$current.withValue(host) { CLLocationManager() }
        delegate?.locationManager(manager, didEnterRegion: ShopAppDelegate.region)
      }
      let added = phone.requests.compactMap { request -> AppNotification? in
        if case .addNotification(let notification) = request { notification } else { nil }
      }
      let notification = try #require(added.first)
      #expect(notification.origin == .local(seconds: 1, repeats: false))
      phone.arrive(notification.event())
      await phone.settle()
      phone.person(.openedAlert(try #require(phone.alerts.first)))
      await phone.settle()
      #expect(await shopLog() == ["active", "resign", "entered shop", "active", "tapped shop"])
      phone.arrive(notification.event())
      await phone.settle()
      #expect(await shopLog().last == "presents Welcome")
      #expect(phone.requests.last == .presentNotification(notification))
      await phone.end()
    }

    private func newsLog() async -> [String] {
      await MainActor.run { (UIApplication.shared.delegate as? NewsAppDelegate)?.store.log ?? [] }
    }

    @Test func `The app of news schedules its tasks, and is launched for them`() async throws {
      var plist = InfoPlist()
      plist.backgroundModes = ["fetch", "processing", "remote-notification"]
      plist.sceneManifest = InfoPlist.SceneManifest()
      let identifiers = await [
        NewsAppDelegate.refreshIdentifier, NewsAppDelegate.cleaningIdentifier,
      ]
      plist.permittedTaskIdentifiers = identifiers
      let phone = TestPhone(plist) { NewsAppDelegate() }
      phone.person(.opened)
      await phone.settle()
      #expect(await newsLog() == ["token 010203", "connected", "active"])
      phone.person(.sentToBackground)
      await phone.settle()
      while await !newsLog().contains("saved") { await Task.yield() }
      let submitted = phone.requests.compactMap { request -> AppTaskRequest? in
        if case .submitTask(let task) = request { task } else { nil }
      }
      #expect(submitted.map(\.identifier) == identifiers)
      #expect((submitted.first?.earliestBegin ?? 0) > 0)
      phone.send(.memoryPressure(.critical))
      await phone.settle()
      #expect(phone.machineState == .notRunning)

      phone.arrive(try #require(submitted.first).event)
      await phone.settle()
      while phone.machineState != .suspended { await phone.settle() }
      #expect(await newsLog().contains("refreshed"))
      phone.arrive(try #require(submitted.last).event)
      await phone.advance(by: .seconds(296))
      #expect(await newsLog().suffix(2) == ["cleaning", "expired"])
      #expect(phone.machineState == .suspended)
      let text = #"{"aps":{"content-available":1},"article":"A"}"#
      phone.arrive(try #require(AppNotification(remote: text, identifier: "1")).event())
      while await !newsLog().contains("loaded A") { await phone.settle() }
      while phone.machineState != .suspended { await phone.settle() }
      await phone.end()
    }
  }
}
