import CSim
import Foundation

csim_crash_handlers()
// Before the first program, whose time and threads are simulated.
_ = Scratch.folder
csim_install()
exit(Command.run(Array(CommandLine.arguments.dropFirst())))
