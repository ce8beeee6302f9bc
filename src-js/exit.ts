// The end of the process: whatever it is still connected to ends with it. `process.exit` and an uncaught exception give
// no time to close, and run no hook of the addon's.

interface Killable {
  kill(): void;
}

const open = new Set<Killable>();

/** Kills the children of this toolset when the process exits. */
export function killAtExit(toolset: Killable): void {
  if (open.size === 0) process.on('exit', killAll);
  open.add(toolset);
}

/** Takes that back. No listener stays when the last toolset is closed. */
export function spareAtExit(toolset: Killable): void {
  open.delete(toolset);
  if (open.size === 0) process.off('exit', killAll);
}

function killAll(): void {
  for (const toolset of open) toolset.kill();
}
