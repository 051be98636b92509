import CSim
import Foundation

csim_crash_handlers()
csim_install()
exit(Command.run(Array(CommandLine.arguments.dropFirst())))
