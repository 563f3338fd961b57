// Imported by the programs of a gateway that a test starts (program-environment.ts). It lives for seconds, in which V8's best compiler takes up to a
// third of its processor time (docs/decisions/0102).
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--no-turbofan');
