#if Messaging
  internal import AppSessions
  internal import NIOCore
  internal import NIOPosix
  internal import XMPPMachines

  /// One notification on its way to the manager of apps, on a connection of its own.
  enum ManagerPush {
    /// For the connection and the answer.
    private static let timeMax = TimeAmount.seconds(10)
    /// The maximum length of the answer.
    private static let answerByteCountMax = 1 << 16

    /// Sends a notification. The future always succeeds.
    static func send(
      _ push: AppPush, to path: String, on loop: any EventLoop
    ) -> EventLoopFuture<GatewayPushResult> {
      do throws(AppPushError) { _ = try push.notification() } catch {
        return loop.makeSucceededFuture(.refused(error.sentence))
      }
      let answer = loop.makePromise(of: GatewayPushResult.self)
      let greeting = AppManagerGreeting.command(
        version: AppManagerGreeting.version, .push(push))
      let bytes = AppFrame.bytes(of: greeting)
      let deadline = loop.scheduleTask(in: timeMax) {
        answer.succeed(.unreachable("the manager of apps doesn't answer"))
      }
      let connected = ClientBootstrap(group: loop)
        .connectTimeout(timeMax)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(AnswerHandler(answer))
          }
        }
        .connect(unixDomainSocketPath: path)
      connected.whenComplete { result in
        switch result {
        case .success(let channel):
          channel.writeAndFlush(channel.allocator.buffer(bytes: bytes), promise: nil)
          answer.futureResult.whenComplete { _ in channel.close(promise: nil) }
        case .failure: answer.succeed(.unreachable("no manager of apps runs at \(path)"))
        }
      }
      answer.futureResult.whenComplete { _ in deadline.cancel() }
      return answer.futureResult
    }

    static func result(_ reply: AppCommandReply) -> GatewayPushResult {
      switch reply {
      case .pushed(_, let result): .taken(result.rawValue)
      case .failed(.notInstalled, let sentence): .notInstalled(sentence)
      case .failed(.limit, let sentence), .failed(.notSaved, let sentence),
        .failed(.wrongState, let sentence):
        .busy(sentence)
      case .failed(_, let sentence): .refused(sentence)
      default: .refused("the manager of apps gave another answer")
      }
    }

    /// Takes the manager's answer.
    private final class AnswerHandler: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer

      private let answer: EventLoopPromise<GatewayPushResult>
      private var reader = AppFrame.Reader(byteCountMax: answerByteCountMax)

      init(_ answer: EventLoopPromise<GatewayPushResult>) { self.answer = answer }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reader.append(unwrapInboundIn(data).readableBytesView)
        do throws(AppFrameError) {
          guard let reply = try reader.next(AppCommandReply.self) else { return }
          answer.succeed(ManagerPush.result(reply))
        } catch {
          answer.succeed(.unreachable("the manager of apps gave an answer that is none"))
        }
      }

      func channelInactive(context: ChannelHandlerContext) {
        answer.succeed(.unreachable("the manager of apps has closed the connection"))
      }

      func errorCaught(context: ChannelHandlerContext, error: any Error) {
        answer.succeed(.unreachable("\(error)"))
        context.close(promise: nil)
      }
    }
  }
#endif
