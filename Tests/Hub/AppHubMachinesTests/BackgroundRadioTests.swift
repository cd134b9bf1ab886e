import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import AppHubMachines

@Suite
struct BackgroundRadioTests {
  private let token = RequestToken(rawValue: 5)

  @Test func `A scan in the background needs services and reports no duplicates`() {
    var radio = BackgroundRadio()
    var scan = ScanOptions()
    scan.services = [0x180D]
    scan.allowsDuplicates = true
    #expect(radio.sent(.startScan(scan)) == [.startScan(scan)])
    var background = scan
    background.allowsDuplicates = false
    background.isInBackground = true
    #expect(radio.follow(.background) == [.startScan(background)])
    #expect(radio.follow(.background).isEmpty)
    #expect(radio.follow(.off) == [.stopScan])
    #expect(!radio.isScanning)
    #expect(radio.follow(.foreground) == [.startScan(scan)])
    #expect(radio.sent(.stopScan) == nil)
    #expect(radio.follow(.background).isEmpty)
  }

  @Test func `Advertising in the background has no name, and services in the overflow area only`() {
    var radio = BackgroundRadio()
    var options = AdvertisingOptions()
    options.data = [2, 0x01, 6, 3, 0x03, 0x0D, 0x18, 3, 0x09, 0x41, 0x42]
    options.scanResponse = [3, 0x08, 0x41, 0x42]
    _ = radio.sent(.startAdvertising(options, token))
    var background = options
    background.data = [2, 0x01, 6] + OverflowArea([0x180D]).structure
    background.scanResponse = []
    background.interval = .seconds(1)
    #expect(radio.follow(.background) == [.startAdvertising(background, BackgroundRadio.token)])
  }

  @Test func `All services of an app are in the overflow area in the background`() {
    var radio = BackgroundRadio()
    var options = AdvertisingOptions()
    options.data = [2, 0x01, 6, 3, 0x02, 0x0D, 0x18]
    options.scanResponse = OverflowArea([0x180F, 0x1810]).structure
    _ = radio.sent(.startAdvertising(options, token))
    var background = options
    background.data = [2, 0x01, 6] + OverflowArea([0x180D, 0x180F, 0x1810]).structure
    background.scanResponse = []
    background.interval = .seconds(1)
    #expect(radio.follow(.background) == [.startAdvertising(background, BackgroundRadio.token)])
  }

  @Test func `A scan in the background finds listed services and not those of an overflow area`() {
    var radio = BackgroundRadio()
    var scan = ScanOptions()
    scan.services = [0x180D]
    _ = radio.sent(.startScan(scan))
    func report(_ data: [UInt8]) -> AdvertisingReport {
      AdvertisingReport(
        address: DeviceAddress(bits: 1, kind: .random), isConnectable: true, isScannable: true,
        isLegacy: true,
        rssi: -50, data: data[...], heardAt: .zero)
    }
    let listed = report([3, 0x03, 0x0D, 0x18])
    let hidden = report(OverflowArea([0x180D]).structure)
    #expect(radio.hears(listed) && radio.hears(hidden))
    _ = radio.follow(.background)
    #expect(radio.hears(listed) && !radio.hears(hidden))
    #expect(!radio.hears(report([9, 0x03, 0x0D])))
    _ = radio.follow(.foreground)
    #expect(radio.hears(hidden))
  }

  @Test func `A beacon ends in the background`() {
    var radio = BackgroundRadio()
    var options = AdvertisingOptions()
    options.data = [2, 0x01, 6, 5, 0xFF, 0x4C, 0x00, 0x02, 0x15]
    _ = radio.sent(.startAdvertising(options, token))
    #expect(radio.follow(.background) == [.stopAdvertising])
    #expect(radio.follow(.foreground) == [.startAdvertising(options, BackgroundRadio.token)])
  }

  @Test func `A request that isn't allowed is completed, and has no effect`() {
    var radio = BackgroundRadio()
    _ = radio.follow(.off)
    let request = HostRequest.startAdvertising(AdvertisingOptions(), token)
    #expect(radio.sent(request) == [request, .stopAdvertising])
    #expect(!radio.isAdvertising)
  }

  @Test func `Malformed advertising data is cut where it ends`() {
    for data: [UInt8] in [[], [0], [5], [5, 1], [1, 9, 200, 1], [255, 255], [2, 1]] {
      var radio = BackgroundRadio()
      var options = AdvertisingOptions()
      options.data = data
      _ = radio.sent(.startAdvertising(options, token))
      #expect(radio.follow(.background).count == 1)
    }
  }

  // MARK: Refusals

  /// An app in the background whose advertising was changed for that, and what the host got.
  private static func inBackground() -> (radio: BackgroundRadio, token: RequestToken?) {
    var radio = BackgroundRadio()
    var options = AdvertisingOptions()
    options.data = [2, 0x01, 6, 3, 0x03, 0x0D, 0x18]
    _ = radio.sent(.startAdvertising(options, RequestToken(rawValue: 5)))
    _ = radio.completed(RequestToken(rawValue: 5), .success(.done))
    let token = token(radio.follow(.background))
    return (radio, token)
  }

  private static func token(_ requests: [HostRequest]) -> RequestToken? {
    guard case .startAdvertising(_, let token)? = requests.last else { return nil }
    return token
  }

  @Test(arguments: [
    HostError.limitReached("sets"), .controller(.commandDisallowed), .unauthorized("no"),
    .transport("broken"), .radioNotReady, .cancelled,
  ])
  func `Advertising that is refused while the radio is on is tried again with longer pauses`(
    error: HostError
  ) throws {
    var (radio, token) = Self.inBackground()
    var now = Instant.zero
    var reportCount = 0
    for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] as [Int64] {
      let refusal = radio.answered(
        try #require(token), .failure(error), radioIsOn: true, now: now)
      if refusal == .delayed { reportCount += 1 }
      #expect(!radio.isAdvertising && radio.nextTry == now + .seconds(seconds))
      #expect(radio.tryAgain(now: now).isEmpty)
      now = now + .seconds(seconds)
      token = Self.token(radio.tryAgain(now: now))
    }
    #expect(reportCount == 1)
    #expect(
      radio.answered(try #require(token), .success(.done), radioIsOn: true, now: now) == nil)
    #expect(radio.isAdvertising && radio.nextTry == nil)
  }

  @Test func `An answer from before the radio was on delays the advertising only`() throws {
    var (radio, token) = Self.inBackground()
    // The radio has come back already, and no other report of it follows.
    #expect(radio.radioIsOn().isEmpty)
    #expect(
      radio.answered(try #require(token), .failure(.radioNotReady), radioIsOn: true, now: .zero)
        == nil)
    #expect(Self.token(radio.tryAgain(now: .zero + .seconds(1))) != nil)
  }

  @Test func `Advertising that the host can't do is given up until the app's next state`() throws {
    var (radio, token) = Self.inBackground()
    let refusal = radio.answered(
      try #require(token), .failure(.invalidArgument("too long")), radioIsOn: true, now: .zero)
    #expect(refusal == .givenUp && !radio.isAdvertising && radio.nextTry == nil)
    #expect(radio.radioIsOn().isEmpty)
    #expect(Self.token(radio.follow(.foreground)) != nil && radio.isAdvertising)
  }

  @Test func `An answer to an earlier request changes nothing`() throws {
    var (radio, first) = Self.inBackground()
    let second = Self.token(radio.follow(.foreground))
    #expect(second != first)
    let late = radio.answered(
      try #require(first), .failure(.limitReached("sets")), radioIsOn: true, now: .zero)
    #expect(late == nil && radio.isAdvertising)
    #expect(radio.sent(.stopAdvertising) == nil)
    #expect(
      radio.answered(
        try #require(second), .failure(.limitReached("sets")), radioIsOn: true, now: .zero) == nil)
    #expect(radio.nextTry == nil)
  }

  @Test func `What the host has refused to the app doesn't begin in the background`() {
    var radio = BackgroundRadio()
    _ = radio.sent(.startAdvertising(AdvertisingOptions(), token))
    _ = radio.completed(token, .failure(.limitReached("sets")))
    #expect(!radio.isAdvertising && radio.follow(.background).isEmpty)
  }

  @Test func `Advertising that was refused begins when another advertiser has ended`() throws {
    var (radio, token) = Self.inBackground()
    var now = Instant.zero
    for _ in 0..<8 {
      _ = radio.answered(
        try #require(token), .failure(.limitReached("sets")), radioIsOn: true, now: now)
      now = try #require(radio.nextTry)
      token = Self.token(radio.tryAgain(now: now))
    }
    radio.placeIsFree(now: now)
    #expect(radio.nextTry == nil, "a request is under way")
    _ = radio.answered(
      try #require(token), .failure(.limitReached("sets")), radioIsOn: true, now: now)
    #expect(try #require(radio.nextTry) > now + .seconds(100))
    radio.placeIsFree(now: now + .seconds(1))
    #expect(Self.token(radio.tryAgain(now: now + .seconds(1))) != nil)
  }
}
