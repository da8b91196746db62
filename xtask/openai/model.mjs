// The model that the clients' questions reach: `node model.mjs PORT`. It is the scripted model of the panel's suite.
import { Model } from "../panel/model.mjs";

const model = await new Model().listen(Number(process.argv[2]));
const pictures = (body) => body.messages.flatMap((one) => (Array.isArray(one.content) ? one.content : [])).filter((part) => part.type === "image_url").length;

const questions = (body) => body.messages.filter((one) => one.role === "user").length;

model.on("plain", [{ reasoning: "I think first." }, { text: "Hello from the model." }]);
model.on("ours", [{ call: ["lab.echo", { text: "apple" }] }], [{ text: "The tool said apple." }]);
model.on("asked", [{ call: ["lab.danger", { path: "note.txt" }] }], [{ text: "The file is written." }]);
model.on("theirs", [{ call: ["weather", { city: "Oslo" }] }], [{ text: "It is sunny in Oslo." }]);
model.on("weather in San Francisco", (body) => [body.tool_choice === "required" ? { call: ["get_weather", { location: "San Francisco" }] } : { text: "No call was demanded." }]);
model.on("picture", (body) => [{ text: `I see ${pictures(body)} picture.` }]);
model.on("history", (body) => [{ text: `I know of ${questions(body)} questions.` }]);
model.on("broken", [{ status: 400, message: "scripted failure" }]);
model.on("slow", [{ text: "Begun. " }, { hold: "forever" }]);
