// The longest time for which the JavaScript thread does nothing else while a catalogue is made.

import { projectCase } from '../project/case.mjs';

export const benchCase = projectCase({
  name: 'project-pause',
  title: 'the longest pause of the JavaScript thread while a catalogue is made',
  metric: { unit: 'ms', better: 'lower', of: (round) => round.longestPauseMs },
  targets: [{ atLeast: 4 }],
});
