// The agents, by the names that tests/meson.build has for them. Each is an object:
//   name, dialect      what it is called, and the API that its model is spoken to in
//   loadsRoot          it loads the root's AGENTS.md by itself
//   isInstructed       it hands a server's instructions to its model whole, so that the root's AGENTS.md is there
//   namesRoots         it tells a server its roots
//   showsAll           it gives its model all definitions of tools at once
//   addsArgument       the name of an argument that it adds to every tool
//   repeatsErrors      it writes the text of an error twice into its request, whatever a server does
//   turns              it ends a prompt after so many
//   replaced           stet's plugin replaces its edit and write
//   checksWrites       its write refuses a file that changed since its own read, before it asks the hook
//   setUp({home, work, url, server})  command, arguments, environment and files below HOME for one run
//   call(name, args)   a call of stet's tool as its model makes it
//   search(name, body) the call that makes a tool known first, if the request does not offer it
//   client             its name for stet setup
//   native             calls of its own tools: read, part, edit, write and shell; todos, if it has a list of tasks
//   text(result)       what stet said, from what the agent made of it
import { claude } from './claude.mjs';
import { codex, codexCode } from './codex.mjs';
import { gemini } from './gemini.mjs';
import { opencode } from './opencode.mjs';
import { qwen } from './qwen.mjs';

export const agents = { claude, codex, 'codex-code': codexCode, gemini, opencode, qwen };
