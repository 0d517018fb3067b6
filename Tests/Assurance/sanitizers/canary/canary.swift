import CCanary
import Glibc

// One fault each, by the first argument: what a sanitizer does not report here it never reports.

func useAfterFree() {
    let memory = UnsafeMutablePointer<Int>.allocate(capacity: 4)
    memory.initialize(repeating: 1, count: 4)
    memory.deallocate()
    print(memory[2])
}

@inline(never)
func leak() -> Bool { malloc(1234) != nil }

nonisolated(unsafe) var shared = 0

func race() {
    var threads = [pthread_t](repeating: 0, count: 2)
    for index in threads.indices {
        _ = pthread_create(
            &threads[index], nil,
            { _ in
                for _ in 0..<10_000 { shared += 1 }
                return nil
            }, nil)
    }
    for thread in threads { pthread_join(thread, nil) }
}

func modify(_ value: inout Int, _ body: () -> Void) { body() }

final class Box { var value = 0 }

func overlap() {
    let box = Box()
    modify(&box.value) { box.value += 1 }
}

switch CommandLine.arguments.last {
case "use-after-free": useAfterFree()
case "leak": _ = leak()
case "race": race()
case "overlap": overlap()
case "overflow": print(sallyport_canary_increment(Int32.max))
default: exit(2)
}
