import HubWire
import Testing

@Suite("The usual places of hubs")
struct HubPathTests {
  @Test("a user's hub is in the user's runtime folder, and is preferred to the system's")
  func order() {
    #expect(HubPath.user(runtimeFolder: "/run/user/7") == "/run/user/7/ambit/hub")
    #expect(HubPath.all(runtimeFolder: "/run/user/7") == ["/run/user/7/ambit/hub", HubPath.system])
    #expect(HubPath.system == "/run/ambit/hub")
  }

  @Test("a runtime folder that is missing or relative has no hub", arguments: [nil, "", "run"])
  func noFolder(_ folder: String?) {
    #expect(HubPath.user(runtimeFolder: folder) == nil)
    #expect(HubPath.all(runtimeFolder: folder) == [HubPath.system])
  }
}
