#if Messaging
  import Foundation
  import Messaging
  import Testing

  @Suite("An account of an app that is suspended", .timeLimit(.minutes(5)))
  struct SuspensionTests {
    @Test("Preparing for suspension returns without a connection, and after the account has ended")
    func preparation() async throws {
      let url = FileManager.default.temporaryDirectory.appending(path: "s-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: url) }
      var settings = MessagingAccount.Configuration(
        address: "ann@chat.example", password: "", storePath: url.path + "/messages")
      settings.restoreIdentifier = "messages"
      let account = try MessagingAccount(settings)
      await account.prepareForSuspension()
      for number in 0..<20 { _ = try await account.send("\(number)", to: "bob@chat.example") }
      async let preparation: Void = account.prepareForSuspension()
      async let closing: Void = account.close()
      await preparation
      try await closing
      await account.prepareForSuspension()
    }
  }
#endif
