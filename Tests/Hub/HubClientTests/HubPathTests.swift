import HubPlaces
import Testing

@Suite("The usual places of hubs")
struct HubPathTests {
  @Test("a user's hub is in the user's runtime folder, and is preferred to the system's")
  func order() {
    #expect(HubPath.user(runtimeFolder: "/run/user/7") == "/run/user/7/ambit/hub")
    #expect(HubPath.all(runtimeFolder: "/run/user/7") == ["/run/user/7/ambit/hub", HubPath.system])
    #expect(HubPath.system == "/run/ambit/hub")
  }

  @Test("a program looks for the network beside a hub: the named one, or the usual ones")
  func network() {
    let folder = "/run/user/7"
    let usual = BonjourPlaces(nil, runtimeFolder: folder, isTest: { false })
    #expect(usual?.paths == [folder + "/ambit/hub.bonjour", "/run/ambit/hub.bonjour"])
    #expect(usual?.isNamed == false)
    let named = BonjourPlaces(.path("/tmp/hub"), runtimeFolder: folder, isTest: { true })
    #expect(named == BonjourPlaces(paths: ["/tmp/hub.bonjour"], isNamed: true))
  }

  @Test("a program whose hub is off, and tests without a named hub, use no hub's network")
  func noNetwork() {
    #expect(BonjourPlaces(.off, runtimeFolder: "/run/user/7", isTest: { false }) == nil)
    #expect(BonjourPlaces(.invalid("no path"), runtimeFolder: nil, isTest: { false }) == nil)
    #expect(BonjourPlaces(nil, runtimeFolder: "/run/user/7", isTest: { true }) == nil)
  }

  @Test("a runtime folder that is missing or relative has no hub", arguments: [nil, "", "run"])
  func noFolder(_ folder: String?) {
    #expect(HubPath.user(runtimeFolder: folder) == nil)
    #expect(HubPath.all(runtimeFolder: folder) == [HubPath.system])
  }
}
